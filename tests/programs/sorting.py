# mypy: ignore-errors
# pyright: basic
"""Sorting and searching, as in a first course on algorithms."""

import numpy as np


def insertion_sort(a):
    """Sort in place."""
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def bubble_sort(values):
    """A sorted copy and the number of exchanges; stops after a pass without any."""
    a = values.copy()
    n = len(a)
    exchanges = 0
    for end in range(n - 1, 0, -1):
        swapped = False
        for j in range(end):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
                exchanges += 1
        if not swapped:
            break
    return a, exchanges


def merge(left, right):
    out = np.empty(len(left) + len(right), dtype=left.dtype)
    i = j = 0
    for k in range(len(out)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def merge_sort(a):
    """By recursion on halves."""
    if len(a) <= 1:
        return a.copy()
    middle = len(a) // 2
    return merge(merge_sort(a[:middle]), merge_sort(a[middle:]))


def sift_down(a, start, end):
    root = start
    while 2 * root + 1 <= end:
        child = 2 * root + 1
        if child + 1 <= end and a[child] < a[child + 1]:
            child += 1
        if a[root] >= a[child]:
            return
        a[root], a[child] = a[child], a[root]
        root = child


def heap_sort(a):
    """Sort in place with a heap in the array itself."""
    n = len(a)
    for start in range(n // 2 - 1, -1, -1):
        sift_down(a, start, n - 1)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift_down(a, 0, end - 1)
    return a


def shell_sort(a):
    """With gaps that halve until nothing is left of them."""
    a = np.array(a)
    gap = len(a) // 2
    while gap > 0:
        for i in range(gap, len(a)):
            value = a[i]
            j = i
            while j >= gap and a[j - gap] > value:
                a[j] = a[j - gap]
                j -= gap
            a[j] = value
        gap //= 2
    return a


def quickselect(a, k):
    """The k-th smallest number, counted from 0, by partitions around the middle one."""
    a = a.copy()
    lo, hi = 0, len(a) - 1
    while lo < hi:
        pivot = a[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return a[k]


def counting_sort(grades, highest):
    """Whole numbers from 0 to `highest` in order."""
    counts = np.zeros(highest + 1, dtype=np.int64)
    for g in grades:
        counts[g] += 1
    out = np.empty_like(grades)
    position = 0
    for value in range(highest + 1):
        for _ in range(counts[value]):
            out[position] = value
            position += 1
    return out


def binary_search(a, wanted):
    """The position of each wanted number in a sorted array, or -1."""
    found = np.full(len(wanted), -1)
    for k, value in enumerate(wanted):
        lo, hi = 0, len(a) - 1
        while lo <= hi:
            mid = (lo + hi) // 2
            if a[mid] == value:
                found[k] = mid
                break
            if a[mid] < value:
                lo = mid + 1
            else:
                hi = mid - 1
    return found
