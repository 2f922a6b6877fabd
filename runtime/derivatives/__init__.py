"""`grad`, `jvp`, `vjp`, Jacobians and Hessians, and `checkpoint`."""
