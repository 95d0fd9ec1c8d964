// The Bessel functions of the first and the second kind of orders 0 and 1, those of float computed in double, too.
#pragma GCC optimize("fp-contract=fast")

#include <cmath>
#include <limits>

#include "elementwise.h"
#include "turns.h"
#include "vmath.h"

namespace mt {
namespace {

// Below 8, of t = x^2 / 32 - 1: J0 = (x^2 - z1^2) (x^2 - z2^2) p(t) by its zeros, and Y0 = 2 / pi ln x J0 + q(t). J1 is the same with a
// factor x, and Y1 = 2 / pi (ln x J1 - 1 / x) + x q(t). From 8 on Hankel's form, sqrt(pi x / 2) (J + i Y) = (P + i Q) e^(i (x - pi/4 -
// order pi/2)), where P and x Q are polynomials of (8 / x)^2. All interpolate at Chebyshev nodes and are made by fits.py; errors are
// below 4e-9 and 7e-18.
template <class T, int Order>
struct FitOfJ;
template <>
struct FitOfJ<float, 0> {
  static constexpr double kNear[] = {
      -2.814972361391357e-09, 4.0396686017309846e-08, -4.676951922698498e-07, 4.366574683461065e-06, -3.157343169373516e-05,
      0.00016977213493066348, -0.0006415390638540468, 0.0015636431486158418, -0.0021197942894954237, 0.0011434937746958144};
  static constexpr double kOfLog[] = {
      5.370642899468503e-06, -7.376498957658878e-05, 0.0008061030612453573, -0.007024648826608018, 0.04636707649572855,
      -0.21895803765926633, 0.672177071588162, -1.077547600958229, 0.1441263242720932, 1.6470964674844506,
      -0.8284358903685016, -0.3822506543012244};
  static constexpr double kEven[] = {-1.652073739681748e-06, 2.7079547558185248e-05, -0.0010985748211826034, 0.999999998200776};
  static constexpr double kOdd[] = {
      -7.413604819719538e-07, 6.083593061314802e-06, -5.528079644299159e-05, 0.0011443893091179688, -0.12499999960565893};
};
template <>
struct FitOfJ<float, 1> {
  static constexpr double kNear[] = {
      -1.1768979654427052e-10, 1.8426127501429105e-09, -2.3521291690390297e-08, 2.4423842496600584e-07,
      -1.9890937412906723e-06, 1.2242178584045354e-05, -5.4080032362678994e-05, 0.00015860016737720338,
      -0.00026975227467220035, 0.00019498936987128658};
  static constexpr double kOfLog[] = {
      -3.6372914678056287e-06, 4.533194089789256e-05, -0.0004437810133321709, 0.0034218321719131158, -0.019628772735326767,
      0.07854815753880559, -0.19639839575893134, 0.23507204056452238, 0.02336757157896153, -0.2433774282164897,
      0.07075985882118005};
  static constexpr double kEven[] = {1.974021456519036e-06, -3.4859260944008385e-05, 0.0018309882810496592, 1.0000000020606845};
  static constexpr double kOdd[] = {
      8.390698120686969e-07, -7.043760091142759e-06, 6.758440331344064e-05, -0.001602150832104064, 0.37499999956296365};
};
template <>
struct FitOfJ<double, 0> {
  static constexpr double kNear[] = {
      4.006178286297737e-16, -1.2482966637990574e-14, 3.3923324014926297e-13, -8.023472603248695e-12, 1.627648945732473e-10,
      -2.7948629678312687e-09, 3.9988393454959875e-08, -4.677128021300755e-07, 4.366932324640601e-06, -3.157342540223544e-05,
      0.00016977200713997844, -0.0006415390646406123, 0.0015636431645931661, -0.002119794289479692, 0.0011434937743762545};
  static constexpr double kOfLog[] = {
      -8.838468394309022e-13, 2.6926937109987802e-11, -7.130468040126112e-10, 1.6390875017619395e-08, -3.218507833909702e-07,
      5.321318810394401e-06, -7.279541882544516e-05, 0.00080615860596164, -0.007025741057270546, 0.046367047681375125,
      -0.2189574709617164, 0.6721770783431679, -1.0775477338215995, 0.14412632369302475, 1.6470964788745466,
      -0.8284358903604587, -0.382250654459425};
  static constexpr double kEven[] = {
      1.3219700423350835e-10, -1.0029066979633945e-09, 3.589369421372812e-09, -8.31251965044764e-09, 1.4845549354895297e-08,
      -2.4185615179408813e-08, 4.339314718568921e-08, -1.0229475399421496e-07, 3.620184781129259e-07, -2.183917728558513e-06,
      2.738088361130017e-05, -0.0010986328124985556, 1.0};
  static constexpr double kOdd[] = {
      -6.334002499904253e-10, 5.266327693631826e-09, -2.0386719524825114e-08, 4.9391240246188914e-08, -8.582431886459488e-08,
      1.1847376507015868e-07, -1.4502397065436714e-07, 1.8029153673326535e-07, -2.6379570133829e-07, 5.13190214056454e-07,
      -1.4531646487282279e-06, 6.5907556444006975e-06, -5.544628942274274e-05, 0.0011444091796867502, -0.125};
};
template <>
struct FitOfJ<double, 1> {
  static constexpr double kNear[] = {
      1.1809575438223918e-17, -3.910422781244815e-16, 1.1343132028985911e-14, -2.8755308688882974e-13, 6.2847338188380325e-12,
      -1.1696932521779358e-10, 1.826854769538332e-09, -2.3521922545778545e-08, 2.4425222607520203e-07, -1.989093515914257e-06,
      1.224217365301561e-05, -5.408003239085506e-05, 0.00015860016799369874, -0.0002697522746716368, 0.00019498936985895625};
  static constexpr double kOfLog[] = {
      8.758166378734063e-13, -2.4995314348224963e-11, 6.169694909376002e-10, -1.3153147370992129e-08, 2.3804930317310604e-07,
      -3.6010000225850992e-06, 4.4674330127252e-05, -0.00044381734344201836, 0.0034224907399185273, -0.01962875683311711,
      0.07854786922242538, -0.19639839859930203, 0.23507209206669755, 0.02336757172099348, -0.24337743079193114,
      0.07075985882118005};
  static constexpr double kEven[] = {
      -1.4038395089577798e-10, 1.0657770307911482e-09, -3.818735305533677e-09, 8.860855361799285e-09, -1.5879522872690333e-08,
      2.6030250382020736e-08, -4.719167778074151e-08, 1.1307073738668152e-07, -4.102893385438351e-07, 2.5809939131965017e-06,
      -3.520399323335166e-05, 0.001831054687498473, 1.0};
  static constexpr double kOdd[] = {
      6.675997302173228e-10, -5.55266846989347e-09, 2.150642392457472e-08, -5.214559601645544e-08, 9.072695385014144e-08,
      -1.255129677702513e-07, 1.5421300293087223e-07, -1.9290508409888594e-07, 2.8495666762962395e-07, -5.620781984196204e-07,
      1.6241270941123224e-06, -7.604718230766905e-06, 6.77676870820278e-05, -0.0016021728515617122, 0.375};
};
// Zeros of J, each in two parts.
constexpr double kZeros[2][4] = {{2.404825557695773, -1.176691651530894e-16, 5.520078110286311, 8.088597146146722e-17},
                                 {3.8317059702075125, -1.5269184090088067e-16, 7.015586669815619, -9.414165653410389e-17}};

enum class Kind { kFirst, kSecond };

template <class T, Kind K, int Order, bool FarOut>
MT_INLINE double bessel(double x) {
  using Of = FitOfJ<T, Order>;
  constexpr double kPi = 3.14159265358979323846;
  constexpr const double(&kOf)[4] = kZeros[Order];
  const double a = std::fabs(x), t = a * a * 0.03125 - 1.0;
  const double first = ((a - kOf[0]) - kOf[1]) * (a + kOf[0]), second = ((a - kOf[2]) - kOf[3]) * (a + kOf[2]);
  double near = first * second * horner(Of::kNear, t);
  if constexpr (Order == 1) near *= x;
  if constexpr (K == Kind::kSecond) {
    const double rest = horner(Of::kOfLog, t);
    const double part = Order == 0 ? vlog(x) * near : vlog(x) * near - 1.0 / x;
    near = 2.0 / kPi * part + (Order == 0 ? rest : x * rest);
  }
  double sine, cosine;
  if constexpr (FarOut) {
    sine = std::sin(a), cosine = std::cos(a);
  } else {
    const WideTurned turned(a);
    sine = turned.turned(0), cosine = turned.turned(1);
  }
  // The cosine of x - pi/4 is `sum`, its sine `rest`, of amplitude sqrt(2); a quarter of a turn less is one of them for the other.
  const double sum = cosine + sine, rest = sine - cosine, unit = 8.0 / a, z = unit * unit;
  const double even = horner(Of::kEven, z), odd = horner(Of::kOdd, z) / a;
  const bool straight = (K == Kind::kFirst) == (Order == 0);
  double far = (straight ? even * sum - odd * rest : even * rest + odd * sum) / std::sqrt(kPi * a);
  if constexpr (K == Kind::kSecond && Order == 1) far = -far;
  if constexpr (K == Kind::kFirst && Order == 1) far = std::copysign(1.0, x) * far;
  const double found = select(a < 8.0, near, far);
  if constexpr (K == Kind::kFirst) return found;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();
  return select(is_zero(x), -kInfinite, select(x < 0.0, kNone, found));
}

template <class T, Kind K, int Order, bool FarOut>
MT_INLINE T bessel_of(T x) {
  return T(bessel<T, K, Order, FarOut>(double(x)));
}

template <Kind K, int Order>
struct Bessel {
  explicit Bessel(const double*) {}
};

}  // namespace

template <class T, Kind K, int Order>
struct Loop<Bessel<K, Order>, T, T, 1> : TurnLoop<T, bessel_of<T, K, Order, false>, bessel_of<T, K, Order, true>> {};

}  // namespace mt

#define EXPORT(name, kind, order)                                                       \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* out) {                \
    const mt_tensor* operands[] = {out, self};                                          \
    return mt::arithmetic<mt::Bessel<mt::Kind::kind, order>, 1, true>(operands);        \
  }
EXPORT(bessel_j0, kFirst, 0)
EXPORT(bessel_j1, kFirst, 1)
EXPORT(bessel_y0, kSecond, 0)
EXPORT(bessel_y1, kSecond, 1)
