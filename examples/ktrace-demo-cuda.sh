#!/bin/sh
# What `ktrace demo` runs where there may be a GPU: ktrace-demo-cuda FILE.ktrace. 77: no GPU can be used.
exec "${0%/*}/gemm" --save "$1"
