// The modified Bessel functions of orders 0 and 1, also scaled: those of the first kind by e^-|x|, those of the second, which are
// computed in double for float, too, by e^x. And the derivative of digamma.
#pragma GCC optimize("fp-contract=fast")

#include <cmath>
#include <limits>

#include "elementwise.h"
#include "vmath.h"

namespace mt {
namespace {

// Below 8 a series of y = x^2 / 4 without a negative term: I0 = 1 + y p(y), I1 = x p(y). From 8 on sqrt(x) e^-x I = p(16 / x - 1). The
// polynomials, made by fits.py, interpolate at Chebyshev nodes, in 60 digits; their errors, of what they make, are below 2e-9 and 7e-18.
template <class T, int Order>
struct Fit;
template <>
struct Fit<float, 0> {
  static constexpr float kNear[] = {
      1.460443951e-13f, 4.964065292e-12f, 6.670349671e-10f, 3.876050259e-8f, 1.933362166e-6f, 6.942558335e-5f,
      0.001736157901f, 0.027777719f, 0.2500000286f, 0.9999999977f};
  static constexpr float kFar[] = {
      1.082989826e-7f, 3.631710305e-7f, 1.47679211e-6f, 1.111152546e-5f, 0.0001362168431f, 0.003360555852f, 0.4021765094f};
};
template <>
struct Fit<float, 1> {
  static constexpr float kNear[] = {
      6.66779244e-15f, 2.448073776e-13f, 3.721210358e-11f, 2.418805194e-9f, 1.381499871e-7f, 5.785013783e-6f,
      0.0001736181069f, 0.00347220815f, 0.04166668115f, 0.2499999942f, 0.5000000004f};
  static constexpr float kFar[] = {
      -1.221249847e-7f, -4.215554373e-7f, -1.826714505e-6f, -1.500332307e-5f, -0.0002192366694f, -0.009749581527f,
      0.389398459f};
};
template <>
struct Fit<double, 0> {
  static constexpr double kNear[] = {
      9.319037302519698e-25, 1.1142728859197163e-22, 2.6459481729049967e-20, 4.3438583592285594e-18, 6.2782596125899935e-16,
      7.593826261486644e-14, 7.594076203674035e-12, 6.151186352073215e-10, 3.936759926835679e-08, 1.9290123446808463e-06,
      6.944444444616768e-05, 0.0017361111111093212, 0.02777777777777875, 0.24999999999999978, 1.0};
  static constexpr double kFar[] = {
      -7.06893851181878e-11, -1.9216763724933513e-11, 5.181936971288284e-10, 1.4672236659214398e-10, -1.7789375042917173e-09,
      -5.562201990080394e-10, 3.881151253996067e-09, 1.497880830187091e-09, -6.188265090497361e-09, -3.4857887470034955e-09,
      7.58022133915272e-09, 7.540601378890834e-09, -5.4685974495866e-09, -1.3404241991980871e-08, -6.729724111923548e-09,
      7.553516470355896e-09, 2.1545177650836005e-08, 3.932602459703109e-08, 8.87225351128584e-08, 2.973598432479169e-07,
      1.4838475473607391e-06, 1.1143033791556743e-05, 0.00013621607439232746, 0.003360551983667854, 0.4021765094450081};
};
template <>
struct Fit<double, 1> {
  static constexpr double kNear[] = {
      2.916825666594092e-26, 3.706605520277272e-24, 9.455144020393155e-22, 1.6705022348546468e-19, 2.6159960799896376e-17,
      3.451729636836005e-15, 3.797039283580161e-13, 3.4173256472461263e-11, 2.460474960769327e-09, 1.3778659602015222e-07,
      5.78703703726566e-06, 0.00017361111111076753, 0.0034722222222225343, 0.04166666666666652, 0.25000000000000006, 0.5};
  static constexpr double kFar[] = {
      -1.9677083272584384e-11, 6.135932778393812e-11, 1.417650842869536e-10, -4.6561597954216946e-10, -4.798751536934023e-10,
      1.657764699456319e-09, 1.0715528639398075e-09, -3.75344338735913e-09, -1.992076551203188e-09, 6.202984113000443e-09,
      3.803814960536081e-09, -7.863004697555056e-09, -7.816968266767898e-09, 5.963645798166707e-09, 1.408852075202545e-08,
      6.737493433374833e-09, -8.43880090582137e-09, -2.337446787242448e-08, -4.312778920167609e-08, -1.0001282610189342e-07,
      -3.4838567401229716e-07, -1.8349101357991557e-06, -1.5038547197358572e-05, -0.00021923576383382282,
      -0.009749577193235768, 0.38939845902587233};
};

template <int Order, bool Scaled, class T>
MT_INLINE T modified_bessel(T x) {
  using Of = Fit<T, Order>;
  constexpr T kInfinite = std::numeric_limits<T>::infinity();
  const T a = std::fabs(x), y = a * a * T(0.25);
  const T series = Order == 0 ? T(1) + y * horner(Of::kNear, y) : a * horner(Of::kNear, y);
  const T far = horner(Of::kFar, T(16) / a - T(1)) / std::sqrt(a);
  const bool near = a < T(8);
  T found;
  if constexpr (Scaled) {
    found = select(near, series * vexp(-a), far);
  } else {  // in two parts where e^x alone is infinite
    const bool split = a > T(80);
    const T part = vexp(select(split, a * T(0.5), a));
    found = select(near, series, select(a == kInfinite, kInfinite, part * far * select(split, part, T(1))));
  }
  return Order == 0 ? found : std::copysign(found, x);
}

// Below 2, of y = x^2 / 4: K0 = q(y) - ln(x / 2) (1 + y p(y)) and K1 = 1 / x + x (q(y) + ln(x / 2) p(y)), where p is that of I
// near 0; from 2 on sqrt(x) e^x K = p(4 / x - 1). Made as those above; errors are below 4e-9 and 7e-18.
template <class T, int Order>
struct FitOfK;
template <>
struct FitOfK<float, 0> {
  static constexpr double kOfLog[] = {
      7.443032111913107e-05, 0.0017317024665317372, 0.02777935969715639, 0.24999980184047182, 1.0000000039647896};
  static constexpr double kNear[] = {
      3.9003622995123835e-06, 0.00011808021627722907, 0.002615061956814291, 0.03489206114898877, 0.23069609985329897,
      0.42278433409268756, -0.5772156648912681};
  static constexpr double kFar[] = {
      1.0516856689619109e-06, -2.977620741294366e-06, 6.749838404414084e-06, -2.409717983241107e-05, 9.9633293100566e-05,
      -0.00047995238005893936, 0.0030328862797333006, -0.03107144790315802, 1.2185953385133905};
};
template <>
struct FitOfK<float, 1> {
  static constexpr double kOfLog[] = {
      6.2145318301746125e-06, 0.0001731249838086291, 0.0034724755574946655, 0.04166660713507763, 0.25000000510918347,
      0.4999999999290217};
  static constexpr double kNear[] = {
      -1.1188688470156492e-05, -0.00027789185365854874, -0.004796041668621914, -0.045393675584824836, -0.16819609374428232,
      0.038607832589270245};
  static constexpr double kFar[] = {
      -1.2706210546167125e-06, 3.668394118449358e-06, -8.664350230755339e-06, 3.208398722358732e-05, -0.00013967571542772755,
      0.0007359423212353545, -0.005566723381872963, 0.10334972119081565, 1.363151890371342};
};
template <>
struct FitOfK<double, 0> {
  static constexpr double kOfLog[] = {
      7.943309104862665e-12, 6.144592166762382e-10, 3.9368268050700386e-08, 1.9290119505645932e-06, 6.94444445813854e-05,
      0.0017361111110844624, 0.027777777777780375, 0.2499999999999999, 1.0};
  static constexpr double kNear[] = {
      1.8015293331696398e-11, 1.3147877336324059e-09, 7.935328137352067e-08, 3.612622452747443e-06, 0.00011848039436836223,
      0.002614787618610217, 0.03489215745646892, 0.23069608377461445, 0.4227843350984672, -0.5772156649015329};
  static constexpr double kFar[] = {
      3.96355256263508e-11, -6.82912231113288e-11, -1.286822465377347e-10, 2.1672329094976382e-10, 3.1302580587365775e-10,
      -5.425392268826551e-10, -1.2974622316235225e-10, 1.6249121403085222e-10, 9.50126795470238e-10, -1.9163886235149194e-09,
      3.237899704197692e-09, -7.294807830568568e-09, 1.7288102250486044e-08, -4.133603551539714e-08, 1.028875394812628e-07,
      -2.6890740183537945e-07, 7.427918745301117e-07, -2.191177672686996e-06, 7.0022444255986085e-06, -2.473520457096165e-05,
      9.956054748575022e-05, -0.0004797690567658713, 0.0030328918102739454, -0.031071461824889523, 1.2185953385133905};
};
template <>
struct FitOfK<double, 1> {
  static constexpr double kOfLog[] = {
      3.592332807669717e-11, 2.457167819412309e-09, 1.377899527400109e-07, 5.7870350546817405e-06, 0.00017361111179825167,
      0.0034722222220884944, 0.0416666666666797, 0.2499999999999995, 0.5};
  static constexpr double kNear[] = {
      -9.163035769956707e-13, -7.496061672679994e-11, -5.1133219873757516e-09, -2.6788640230692813e-07,
      -1.0355619256757906e-05, -0.00027883987298262935, -0.004795547459834027, -0.0453937917402138, -0.16819608377461678,
      0.03860783245076643};
  static constexpr double kFar[] = {
      -4.3071978473211124e-11, 7.437054315558186e-11, 1.392647707395567e-10, -2.3491838521262873e-10, -3.4052380863530667e-10,
      5.917703107429806e-10, 1.3403129134884593e-10, -1.6214964652946646e-10, -1.064142272258912e-09, 2.1600738070102857e-09,
      -3.7119962979184724e-09, 8.418479670972575e-09, -2.0078990564218355e-08, 4.84585048883485e-08, -1.219592991740941e-07,
      3.229820302740851e-07, -9.067215327593673e-07, 2.730041309124799e-06, -8.961206061895131e-06, 3.284386556850026e-05,
      -0.00013959021963384766, 0.0007357241549077615, -0.005566729880073094, 0.10334973775386523, 1.363151890371342};
};

template <class T, int Order, bool Scaled>
MT_INLINE double modified_bessel_of_second(double x) {
  using Of = FitOfK<T, Order>;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double y = x * x * 0.25, log = vlog(0.5 * x), of_log = horner(Of::kOfLog, y), rest = horner(Of::kNear, y);
  const double series = Order == 0 ? rest - log * (1.0 + y * of_log) : 1.0 / x + x * (rest + log * of_log);
  const double far = horner(Of::kFar, 4.0 / x - 1.0) / std::sqrt(x);
  const bool near = x < 2.0;
  const double e = vexp(Scaled ? x : -x);
  const double found = select(near, Scaled ? series * e : series, Scaled ? far : far * e);
  return select(is_zero(x), kInfinite, select(x < 0.0, std::numeric_limits<double>::quiet_NaN(), found));
}

// psi'(z) = the sum of (z + k)^-2 for k below 8, and psi'(z + 8) by Euler and Maclaurin's series, whose coefficients are Bernoulli's
// numbers; below 0 by reflection, pi^2 / sin(pi x)^2 - psi'(1 - x).
template <class T>
MT_INLINE T trigamma_of(T x) {
  constexpr T kPi = T(3.14159265358979323846);
  constexpr T kBernoulli[] = {T(-3617.0 / 510), T(7.0 / 6),   T(-691.0 / 2730), T(5.0 / 66),
                              T(-1.0 / 30),     T(1.0 / 42),  T(-1.0 / 30),     T(1.0 / 6)};
  const bool low = x < T(0);
  const T z = low ? T(1) - x : x;
  const T v = T(1) / (z + T(8)), square = v * v;
  T sum = v + square * (T(0.5) + v * horner(kBernoulli, square));
  for (int k = 7; k >= 0; --k) {
    const T part = T(1) / (z + T(k));
    sum += part * part;
  }
  const T root = kPi / vsin(kPi * (x - std::nearbyint(x)));
  return low ? root * root - sum : sum;
}

#define UNARY(Name, expression)            \
  struct Name {                            \
    explicit Name(const double*) {}        \
    template <class T>                     \
    MT_INLINE T operator()(T x) const {    \
      return expression;                   \
    }                                      \
  };
UNARY(I0, (modified_bessel<0, false>(x)))
UNARY(I0e, (modified_bessel<0, true>(x)))
UNARY(I1, (modified_bessel<1, false>(x)))
UNARY(I1e, (modified_bessel<1, true>(x)))
UNARY(K0, (T(modified_bessel_of_second<T, 0, false>(double(x)))))
UNARY(K0e, (T(modified_bessel_of_second<T, 0, true>(double(x)))))
UNARY(K1, (T(modified_bessel_of_second<T, 1, false>(double(x)))))
UNARY(K1e, (T(modified_bessel_of_second<T, 1, true>(double(x)))))
UNARY(Trigamma, trigamma_of(x))

}  // namespace
}  // namespace mt

#define EXPORT(name, Name)                                               \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* out) { \
    const mt_tensor* operands[] = {out, self};                           \
    return mt::arithmetic<mt::Name, 1, true>(operands);                  \
  }
EXPORT(i0, I0)
EXPORT(i0e, I0e)
EXPORT(i1, I1)
EXPORT(i1e, I1e)
EXPORT(k0, K0)
EXPORT(k0e, K0e)
EXPORT(k1, K1)
EXPORT(k1e, K1e)
EXPORT(trigamma, Trigamma)
