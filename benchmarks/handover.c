// A bare hand-over between two threads: one posts a job and sleeps until the other has taken it, and back.
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t posted, done, last;

static void* work(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  while (done != last) {
    while (posted == done) pthread_cond_wait(&changed, &mutex);
    done = posted;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return 0;
}

// `rounds` jobs handed over and waited for, one after the other. Returns 0, or 1 where no thread can be started.
int hand_over(uint64_t rounds) {
  pthread_t worker;
  posted = done = 0;
  last = rounds;
  if (pthread_create(&worker, 0, work, 0) != 0) return 1;
  pthread_mutex_lock(&mutex);
  while (posted != rounds) {
    ++posted;
    pthread_cond_broadcast(&changed);
    while (done != posted) pthread_cond_wait(&changed, &mutex);
  }
  pthread_mutex_unlock(&mutex);
  pthread_join(worker, 0);
  return 0;
}
