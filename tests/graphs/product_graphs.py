"""Graphs of kernels that hold a product of matrices, with what is made of its operands and of its elements."""

import numpy as np

from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.ir import Graph, Value


def matmul(x: Value, y: Value) -> Value:
    return fn.dot(x, y, ((1,), (0,)))


def left_turned(x: Value, y: Value) -> Value:
    return fn.dot(x, y, ((0,), (0,)))


def right_turned(x: Value, y: Value) -> Value:
    return fn.dot(x, y, ((1,), (1,)))


def batched(x: Value, y: Value) -> Value:
    return fn.dot(x, y, ((2,), (1,)), ((0,), (0,)))


def relu_layer(x: Value, weights: Value, bias: Value, residual: Value) -> Value:
    return fn.add(fn.maximum(fn.add(matmul(x, weights), bias), 0), residual)


def gelu(x: Value) -> Value:
    return fn.multiply(fn.multiply(x, 0.5), fn.add(fn.elementwise("erf", fn.multiply(x, 0.5**0.5)), 1))


def gelu_layer(x: Value, weights: Value, bias: Value) -> Value:
    return gelu(fn.add(matmul(x, weights), bias))


def two_results(x: Value, y: Value, scale: Value) -> tuple[Value, ...]:
    product = matmul(x, y)
    return product, fn.multiply(product, scale), fn.greater(product, 0)


def of_layer(x: Value, weights: Value, bias: Value) -> Value:
    """Of rows that have two axes, in a shape with another one."""
    rows = fn.add(fn.dot(x, weights, ((2,), (0,))), bias)
    return fn.reshape(rows, (*x.shape[:2], 2, weights.shape[1] // 2))


def widened(x: Value, y: Value) -> Value:
    return matmul(fn.convert(x, np.dtype(np.float32)), fn.convert(y, np.dtype(np.float32)))


def widened_layer(x: Value, y: Value, bias: Value) -> Value:
    """Of matrices of which one is of f32, or both are of different numbers of two bytes."""
    return fn.maximum(fn.add(widened(x, y), bias), 0)


def batch_of_right_widened(x: Value, y: Value) -> Value:
    return batched(x, fn.convert(y, x.dtype))


def of_scaled(x: Value, scale: Value, y: Value) -> Value:
    return matmul(fn.exp(fn.multiply(x, scale)), fn.flip(y, (0,)))


def turned_result(x: Value, y: Value) -> Value:
    return fn.transpose(matmul(x, y), (1, 0))


def row_sums(x: Value, y: Value) -> Value:
    return fn.sum_(fn.square(matmul(x, y)), (1,))


def of_sums(x: Value, y: Value) -> Value:
    return matmul(bind("max", x, axes=(0,)), y)


def heads(x: Value, y: Value) -> Value:
    """Of ``[batch, position, head, feature]``, as attention has it."""
    return fn.dot(x, y, ((3,), (3,)), ((0, 2), (0, 2)))


def convolved(x: Value, w: Value, stride: int, around: int) -> Value:
    """Of planes, with equally many zeros on each side."""
    return bind(
        "conv",
        x,
        w,
        strides=(stride, stride),
        padding=((around, around), (around, around)),
        input_dilation=(1, 1),
        kernel_dilation=(1, 1),
    )


def convolution(x: Value, w: Value) -> Value:
    return convolved(x, w, 2, 1)


def convolution_layer(x: Value, w: Value, bias: Value) -> Value:
    return fn.maximum(fn.add(convolved(x, w, 1, 1), fn.reshape(bias, (bias.shape[0], 1, 1))), 0)


SMALL: dict[str, Graph] = {
    "16-bit floats": recorded(matmul, "f16[70, 40]", "f16[40, 90]"),
    "16-bit brain floats": recorded(matmul, "bf16[64, 64]", "bf16[64, 128]"),
    "singles": recorded(matmul, "f32[130, 33]", "f32[33, 17]"),
    "doubles": recorded(matmul, "f64[67, 129]", "f64[129, 65]"),
    "whole tiles": recorded(matmul, "f32[128, 96]", "f32[96, 64]"),
    "bytes": recorded(matmul, "i8[70, 100]", "i8[100, 67]"),
    "unsigned": recorded(matmul, "u64[5, 7]", "u64[7, 9]"),
    "integers": recorded(right_turned, "i32[20, 30]", "i32[40, 30]"),
    "left turned": recorded(left_turned, "f32[33, 70]", "f32[33, 50]"),
    "right turned": recorded(right_turned, "f32[33, 70]", "f32[50, 70]"),
    "turned result": recorded(turned_result, "f32[33, 70]", "f32[70, 50]"),
    "batch": recorded(batched, "f32[3, 20, 30]", "f32[3, 30, 40]"),
    "batch of small": recorded(batched, "f32[300, 3, 5]", "f32[300, 5, 7]"),
    "batch of small 16-bit floats": recorded(batched, "bf16[40, 16, 16]", "bf16[40, 16, 2]"),
    "batch of vectors": recorded(batched, "f64[30, 1, 50]", "f64[30, 50, 40]"),
    "heads": recorded(heads, "f32[2, 20, 3, 17]", "f32[2, 30, 3, 17]"),
    "long": recorded(matmul, "f32[20, 5000]", "f32[5000, 17]"),
    "long 16-bit floats": recorded(matmul, "bf16[20, 4096]", "bf16[4096, 17]"),
    "long layer": recorded(relu_layer, "f32[20, 3000]", "f32[3000, 17]", "f32[17]", "f32[20, 17]"),
    "short": recorded(matmul, "f32[70, 3]", "f32[3, 50]"),
    "nothing": recorded(matmul, "f32[70, 0]", "f32[0, 50]"),
    "no rows": recorded(relu_layer, "f32[0, 20]", "f32[20, 30]", "f32[30]", "f32[0, 30]"),
    "vector": recorded(matmul, "f32[70, 200]", "f32[200, 1]"),
    "row": recorded(relu_layer, "f16[1, 200]", "f16[200, 70]", "f16[70]", "f16[1, 70]"),
    "many tiles of rows": recorded(matmul, "f32[577, 20]", "f32[20, 65]"),
    "relu layer": recorded(relu_layer, "f32[50, 40]", "f32[40, 70]", "f32[70]", "f32[50, 70]"),
    "relu layer of 16-bit floats": recorded(relu_layer, "bf16[50, 40]", "bf16[40, 70]", "bf16[70]", "bf16[50, 70]"),
    "relu layer of integers": recorded(relu_layer, "i16[50, 40]", "i16[40, 70]", "i16[70]", "i16[50, 70]"),
    "gelu layer": recorded(gelu_layer, "f32[50, 40]", "f32[40, 70]", "f32[70]"),
    "two results": recorded(two_results, "f32[50, 40]", "f32[40, 70]", "f32[]"),
    "rows of two axes": recorded(of_layer, "f32[5, 7, 40]", "f32[40, 66]", "f32[66]"),
    "widened": recorded(widened, "bf16[50, 40]", "bf16[40, 70]"),
    "left widened": recorded(widened_layer, "bf16[50, 40]", "f32[40, 70]", "f32[70]"),
    "right widened": recorded(widened_layer, "f32[50, 40]", "f16[40, 72]", "f32[72]"),
    "both widened": recorded(widened_layer, "f16[64, 40]", "bf16[40, 64]", "f32[64]"),
    "batch of right widened": recorded(batch_of_right_widened, "f32[3, 20, 30]", "f16[3, 30, 40]"),
    "long right widened": recorded(widened, "f32[20, 3000]", "bf16[3000, 17]"),
    "vector of widened": recorded(widened, "bf16[70, 200]", "f32[200, 1]"),
    "of scaled": recorded(of_scaled, "f32[50, 40]", "f32[40]", "f32[40, 70]"),
    "squared": recorded(lambda x: matmul(x, x), "f32[40, 40]"),
    "row sums": recorded(row_sums, "f32[50, 40]", "f32[40, 70]"),
    "convolution": recorded(convolution, "f32[1, 2, 5, 9, 8]", "f32[1, 17, 5, 3, 3]"),
    "convolution layer": recorded(convolution_layer, "f32[2, 2, 3, 6, 7]", "f32[2, 8, 3, 3, 3]", "f32[8]"),
    "convolution layer of 16-bit floats": recorded(
        convolution_layer, "bf16[1, 2, 3, 6, 7]", "bf16[1, 8, 3, 3, 3]", "bf16[8]"
    ),
    "convolution of each channel": recorded(convolution_layer, "f32[6, 2, 1, 9, 8]", "f32[6, 1, 1, 3, 3]", "f32[1]"),
    "convolution of integers": recorded(convolution, "i32[1, 2, 5, 9, 8]", "i32[1, 9, 5, 3, 3]"),
    "convolution with long sums": recorded(convolution, "f32[1, 1, 240, 4, 4]", "f32[1, 6, 240, 3, 3]"),
    "of sums": recorded(of_sums, "f32[6, 9, 12]", "f32[12, 10]"),
}  # fmt: skip

LARGE: dict[str, Graph] = {
    "16-bit brain floats": recorded(matmul, "bf16[4096, 4096]", "bf16[4096, 4096]"),
    "16-bit floats": recorded(right_turned, "f16[4096, 1024]", "f16[2048, 1024]"),
    "turned": recorded(left_turned, "bf16[4096, 4096]", "bf16[4096, 4096]"),
    "odd": recorded(matmul, "bf16[4097, 1001]", "bf16[1001, 4095]"),
    "relu layer": recorded(relu_layer, "bf16[8192, 1024]", "bf16[1024, 4096]", "bf16[4096]", "bf16[8192, 4096]"),
    "gelu layer": recorded(gelu_layer, "bf16[8192, 1024]", "bf16[1024, 4096]", "bf16[4096]"),
    "widened": recorded(widened, "bf16[4096, 1024]", "bf16[1024, 4096]"),
    "left widened": recorded(widened_layer, "bf16[4096, 1024]", "f32[1024, 4096]", "f32[4096]"),
    "right widened": recorded(widened_layer, "f32[4096, 1024]", "bf16[1024, 4096]", "f32[4096]"),
    "singles": recorded(matmul, "f32[4096, 1024]", "f32[1024, 4096]"),
    "doubles": recorded(matmul, "f64[2048, 1024]", "f64[1024, 2048]"),
    "integers": recorded(matmul, "i32[1024, 512]", "i32[512, 1024]"),
    "small 16-bit floats": recorded(matmul, "bf16[256, 512]", "bf16[512, 256]"),
    "long": recorded(matmul, "bf16[256, 65536]", "bf16[65536, 256]"),
    "few rows": recorded(matmul, "bf16[16, 4096]", "bf16[4096, 4096]"),
    "batch": recorded(batched, "f32[1024, 32, 32]", "f32[1024, 32, 32]"),
    "batch of small": recorded(batched, "f32[4096, 8, 8]", "f32[4096, 8, 8]"),
    "vector": recorded(matmul, "bf16[8192, 8192]", "bf16[8192, 1]"),
    "convolution": recorded(convolution, "bf16[1, 32, 64, 56, 56]", "bf16[1, 128, 64, 3, 3]"),
    "convolution layer": recorded(convolution_layer, "f32[1, 32, 64, 56, 56]", "f32[1, 128, 64, 3, 3]", "f32[128]"),
    "convolution of each channel": recorded(convolution, "f32[64, 32, 1, 56, 56]", "f32[64, 1, 1, 3, 3]"),
    "heads": recorded(heads, "bf16[2, 512, 16, 64]", "bf16[2, 512, 16, 64]"),
}  # fmt: skip
