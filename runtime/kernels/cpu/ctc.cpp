// The loss of connectionist temporal classification (A. Graves and others, Connectionist Temporal Classification, 2006): minus the
// log-probability of a target over all alignments, which are its labels, each as often as it lasts, with blanks between; and its
// gradient. Logarithms are kept in float64. A sample is one thread's.
#include <algorithm>
#include <limits>
#include <vector>

#include "indices.h"
#include "threads.h"
#include "vmath.h"

namespace mt {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // the logarithm of no probability
constexpr int64_t kAround = 2;  // states are read two beyond either end, where there are none
constexpr int64_t kTogether = 8;  // states are gone through so many at a time, the last ones of them never being reached
constexpr int64_t kWeight = 64;  // of a state, in cheap operations

int64_t rounded_up(int64_t states) { return (states + kTogether - 1) / kTogether * kTogether; }

// What log-probabilities (steps, samples, classes) are read by: the states of a sample are its target's labels with blanks between.
struct Alignments {
  const mt_tensor* scores;
  int64_t steps, samples, classes, width, room;  // width: states of the longest target; room: with those that are not reached
  std::vector<int64_t> inputs, lengths, labels;  // steps and labels of each sample, and a label for each of its states
  std::vector<int64_t> skips;  // whether a state may follow the one two before: another label, with a blank left out

  int init(const mt_tensor* given, const mt_tensor* targets, const mt_tensor* of_inputs, const mt_tensor* of_targets, int64_t blank,
           int64_t states) {
    scores = given;
    if (scores->ndim != 3 || (targets->ndim != 1 && targets->ndim != 2)) return MT_ERROR_SHAPE;
    steps = scores->shape[0], samples = scores->shape[1], classes = scores->shape[2];
    width = states, room = rounded_up(width) + kAround;
    const Indices numbers(targets), of_steps(of_inputs), of_labels(of_targets);
    for (const Indices* each : {&numbers, &of_steps, &of_labels})
      if (each->status) return each->status;
    if (of_steps.count != samples || of_labels.count != samples || blank < 0 || blank >= classes) return MT_ERROR_SHAPE;
    if (targets->ndim == 2 && targets->shape[0] != samples) return MT_ERROR_SHAPE;
    inputs.assign(of_steps.at, of_steps.at + samples);
    lengths.assign(of_labels.at, of_labels.at + samples);
    labels.assign(size_t(samples * width), blank);
    skips.assign(size_t(samples * room), 0);
    for (int64_t sample = 0, first = 0; sample < samples; ++sample) {
      const int64_t count = lengths[size_t(sample)], left = targets->ndim == 2 ? targets->shape[1] : numbers.count - first;
      if (count < 0 || count > left || 2 * count + 1 > width) return MT_ERROR_SHAPE;
      if (inputs[size_t(sample)] < 0 || inputs[size_t(sample)] > steps) return MT_ERROR_SHAPE;
      const int64_t* target = numbers.at + first;
      for (int64_t i = 0; i < count; ++i) {
        if (target[i] < 0 || target[i] >= classes) return MT_ERROR_TARGET;
        labels[size_t(sample * width + 2 * i + 1)] = target[i];
        skips[size_t(sample * room + 2 * i + 1)] = i > 0 && target[i] != target[i - 1];
      }
      first += targets->ndim == 2 ? left : count;
    }
    return MT_OK;
  }
};

// log(e^stay + e^step + e^skip) + score of each state, where `skips` says whether the last one counts. Only what is added to the largest
// of them, which is small, is computed in T.
template <class T>
MT_INLINE void join(const double* stay, const double* step, const double* skip, const int64_t* skips, const double* scores, double* out,
                    int64_t n) {
#pragma GCC ivdep
  for (int64_t s = 0; s < n; ++s) {
    const double a = stay[s], b = step[s], c = select(skips[s] != 0, skip[s], kNever);
    const double larger = a > b ? a : b, largest = larger > c ? larger : c;
    const double base = select(largest == kNever, 0.0, largest);
    out[s] = base + double(vlog(vexp(T(a - base)) + vexp(T(b - base)) + vexp(T(c - base)))) + scores[s];
  }
}

// A sample's states: their scores at a step, and two rows of numbers, with room around them.
template <class T>
struct States {
  const Alignments& of;
  const int64_t sample, count, all, steps;  // all: with those that are not reached
  const int64_t *labels, *skips;
  std::vector<double> memory;
  double *scores, *now, *next;

  MT_INLINE States(const Alignments& given, int64_t which)
      : of(given),
        sample(which),
        count(2 * of.lengths[size_t(which)] + 1),
        all(rounded_up(count)),
        steps(of.inputs[size_t(which)]),
        labels(of.labels.data() + which * of.width),
        skips(of.skips.data() + which * of.room),
        memory(size_t(3 * (all + 2 * kAround)), kNever),
        scores(memory.data() + kAround),
        now(scores + all + 2 * kAround),
        next(now + all + 2 * kAround) {}

  const T* row(int64_t step) const {
    return static_cast<const T*>(of.scores->data) + step * of.scores->strides[0] + sample * of.scores->strides[1];
  }
  MT_INLINE void read(int64_t step) {
    const T* from = row(step);
    for (int64_t s = 0; s < count; ++s) scores[s] = double(from[labels[s] * of.scores->strides[2]]);
  }
};

struct Outputs {
  const mt_tensor *losses, *alpha;
};

template <class T>
struct Forward {
  MT_INLINE static int run(const Alignments* of, const Outputs* out, int64_t first, int64_t last) {
    Pace pace;
    for (int64_t sample = first; sample < last; ++sample) {
      States<T> states(*of, sample);
      T* alpha = static_cast<T*>(out->alpha->data) + sample * of->steps * of->width;
      std::fill(alpha, alpha + of->steps * of->width, T(kNever));
      for (int64_t step = 0; step < states.steps; ++step, alpha += of->width) {
        states.read(step);
        if (step == 0) {
          for (int64_t s = 0; s < std::min(states.count, int64_t(2)); ++s) states.next[s] = states.scores[s];
        } else {
          join<T>(states.now, states.now - 1, states.now - 2, states.skips, states.scores, states.next, states.all);
        }
        std::swap(states.now, states.next);
        for (int64_t s = 0; s < states.count; ++s) alpha[s] = T(states.now[s]);
        if (pace.stops(of->width * kWeight)) return MT_ERROR_INTERRUPTED;
      }
      static_cast<T*>(out->losses->data)[sample] = T(-read(states));
    }
    return MT_OK;
  }

  // The log-probability of all alignments: they end with the last label or with a blank after it.
  MT_INLINE static double read(const States<T>& states) {
    if (states.steps == 0) return states.count == 1 ? 0 : kNever;
    const double a = states.now[states.count - 1], b = states.now[states.count - 2];
    const double largest = a > b ? a : b;
    return largest == kNever ? a + b : largest + std::log(std::exp(a - largest) + std::exp(b - largest));
  }
};

struct Gradient {
  const mt_tensor *grad, *losses, *alpha, *out;
  int64_t zero_infinity;
};

// That of log-probabilities that a logarithm of softmax made, whose sum at each step is 0: each probability less the share that
// alignments with it there have in all of them, the share times the loss's gradient.
template <class T>
struct Backward {
  MT_INLINE static int run(const Alignments* of, const Gradient* g, int64_t first, int64_t last) {
    std::vector<double> shares(size_t(of->classes));
    Pace pace;
    for (int64_t sample = first; sample < last; ++sample) {
      States<T> states(*of, sample);
      const double loss = double(static_cast<const T*>(g->losses->data)[sample]);
      if (g->zero_infinity && loss == -kNever) continue;
      const double given = double(static_cast<const T*>(g->grad->data)[sample]);
      const double factor = loss < -kNever ? given : std::numeric_limits<double>::quiet_NaN();
      for (int64_t step = states.steps - 1; step >= 0; --step) {
        const T* alpha = static_cast<const T*>(g->alpha->data) + (sample * of->steps + step) * of->width;
        states.read(step);
        if (step == states.steps - 1) {
          for (int64_t s = std::max(states.count - 2, int64_t(0)); s < states.count; ++s) states.next[s] = states.scores[s];
        } else {
          join<T>(states.now, states.now + 1, states.now + 2, states.skips + kAround, states.scores, states.next, states.all);
        }
        std::swap(states.now, states.next);
        share(states, alpha, loss, shares.data());
        write(states, step, shares.data(), factor, static_cast<T*>(g->out->data) + (step * of->samples + sample) * of->classes);
        if (pace.stops(of->width * kWeight + of->classes)) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  }

  // Writes over `next`, which has been read.
  MT_INLINE static void share(const States<T>& states, const T* alpha, double loss, double* shares) {
#pragma GCC ivdep
    for (int64_t s = 0; s < states.count; ++s) {
      const double joint = double(alpha[s]) + states.now[s];
      states.next[s] = select(joint == kNever, 0.0, double(vexp(T(joint + loss - states.scores[s]))));
    }
    std::fill(shares, shares + states.of.classes, 0.0);
    for (int64_t s = 0; s < states.count; ++s) shares[states.labels[s]] += states.next[s];
  }

  MT_INLINE static void write(const States<T>& states, int64_t step, const double* shares, double factor, T* out) {
    const T* row = states.row(step);
    const int64_t apart = states.of.scores->strides[2], n = states.of.classes;
    if (apart == 1) {
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) out[c] = T((double(vexp(row[c])) - shares[c]) * factor);
    } else {
      for (int64_t c = 0; c < n; ++c) out[c] = T((double(vexp(row[c * apart])) - shares[c]) * factor);
    }
  }
};

template <template <class> class Body, class Work>
int by_samples(const Alignments& of, const Work& work) {
  using Fn = int (*)(const Alignments*, const Work*, int64_t, int64_t);
  static const Fn of_f32 = PerIsa<Body<float>, const Alignments*, const Work*, int64_t, int64_t>::pick();
  static const Fn of_f64 = PerIsa<Body<double>, const Alignments*, const Work*, int64_t, int64_t>::pick();
  if (of.scores->dtype != MT_F32 && of.scores->dtype != MT_F64) return MT_ERROR_DTYPE;
  const Fn fn = of.scores->dtype == MT_F32 ? of_f32 : of_f64;
  return parallel(of.samples, rows_grain(of.steps * of.width, kWeight),
                  [&](int64_t first, int64_t last) -> int { return fn(&of, &work, first, last); });
}

bool fit(const Alignments& of, const mt_tensor* numbers, const mt_tensor* alpha) {
  return is_contiguous(numbers) && is_contiguous(alpha) && numel(numbers) == of.samples &&
         numel(alpha) == of.samples * of.steps * of.width && numbers->dtype == of.scores->dtype && alpha->dtype == of.scores->dtype;
}

}  // namespace
}  // namespace mt

// The loss of each sample, and alpha (samples, steps, states): the log-probabilities of having come to a state by a step. Targets are
// rows, or one after the other; the states are 2 * (the longest target's length) + 1.
MT_EXPORT int mt_ctc_loss(const mt_tensor* scores, const mt_tensor* targets, const mt_tensor* inputs, const mt_tensor* lengths,
                          const mt_tensor* losses, const mt_tensor* alpha, int64_t blank) {
  mt::Alignments of;
  if (alpha->ndim != 3) return MT_ERROR_SHAPE;
  if (int status = of.init(scores, targets, inputs, lengths, blank, alpha->shape[2])) return status;
  if (!mt::fit(of, losses, alpha)) return MT_ERROR_SHAPE;
  return mt::by_samples<mt::Forward>(of, mt::Outputs{losses, alpha});
}

// The gradient of log-probabilities: `out` is (steps, samples, classes), of zeros.
MT_EXPORT int mt_ctc_loss_backward(const mt_tensor* grad, const mt_tensor* scores, const mt_tensor* targets, const mt_tensor* inputs,
                                   const mt_tensor* lengths, const mt_tensor* losses, const mt_tensor* alpha, const mt_tensor* out,
                                   int64_t blank, int64_t zero_infinity) {
  mt::Alignments of;
  if (alpha->ndim != 3) return MT_ERROR_SHAPE;
  if (int status = of.init(scores, targets, inputs, lengths, blank, alpha->shape[2])) return status;
  if (!mt::fit(of, losses, alpha) || !mt::fit(of, grad, alpha) || !mt::same_shape(scores, out) || !mt::is_contiguous(out))
    return MT_ERROR_SHAPE;
  if (out->dtype != scores->dtype) return MT_ERROR_DTYPE;
  return mt::by_samples<mt::Backward>(of, mt::Gradient{grad, losses, alpha, out, zero_infinity});
}
