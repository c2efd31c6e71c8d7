// thrust's complex numbers, for PyTorch's headers: a type of its own, with the C++ library's functions.
#pragma once

#include <complex>

namespace thrust {
template <class T>
struct complex : std::complex<T> {
  using std::complex<T>::complex;
  complex(const std::complex<T>& value) : std::complex<T>(value) {}
};
using std::abs;
using std::acos;
using std::acosh;
using std::arg;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::cos;
using std::cosh;
using std::exp;
using std::log;
using std::log10;
using std::polar;
using std::pow;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
}  // namespace thrust
