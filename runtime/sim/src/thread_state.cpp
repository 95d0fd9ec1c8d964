#include "thread_state.hpp"

#include <utility>

#include "context.hpp"
#include "model.hpp"
#include "stream.hpp"

namespace mtsim {

ThreadState& ThreadState::make() {
    struct End {
        ~End() { delete std::exchange(own_, nullptr); }
    };
    own_ = new ThreadState;
    static thread_local End end;
    static_cast<void>(&end);
    return *own_;
}

}  // namespace mtsim
