#include "model.hpp"

#include <algorithm>
#include <condition_variable>
#include <system_error>
#include <thread>

#include "error.hpp"
#include "event.hpp"
#include "stream.hpp"

namespace mtsim {

// One run of a model: a thread for each lane, and how far each has come, if there are others to wait for it.
class Run {
public:
    Run(Model& model, Stream& stream)
        : model_(model),
          stream_(stream),
          replay_{model.handle},
          done_(model.lanes_.size() > 1 ? model.lanes_.size() : 0) {
        stream_.set_replay(&replay_);
    }
    ~Run() {  // also when the thread is unwound
        for (std::thread& helper : helpers_) {
            helper.join();
        }
        stream_.set_replay(nullptr);
    }

    void run_all() {
        for (std::size_t lane = 1; lane < model_.lanes_.size(); ++lane) {
            try {
                helpers_.emplace_back([this, lane] {
                    stream_.adopt_thread();
                    run_lane(lane);
                });
            } catch (const std::system_error& error) {
                stream_.set_failure(ACL_ERROR_RT_INTERNAL_ERROR,
                                    format("cannot start a thread for captured stream %zu: %s", lane, error.what()));
                advance_to(lane, model_.length(lane));
            }
        }
        run_lane(0);
    }

private:
    void run_lane(std::size_t lane) {
        struct Leave {  // nobody waits for a lane whose thread is unwound
            Run& run;
            std::size_t lane;
            ~Leave() { run.advance_to(lane, run.model_.length(lane)); }
        } leave{*this, lane};
        const Lane& steps = model_.lanes_[lane];
        for (std::size_t position = 0; position < steps.size(); ++position) {
            const Step& step = steps[position];
            if (step.kind == Step::kAwait) {
                await(step.index, step.count);
            } else {
                run_task(*model_.tasks_[step.index].current.load(std::memory_order_acquire), lane);
            }
            advance_to(lane, position + 1);
        }
    }

    // After a failure only what keeps events in step is done.
    void run_task(CapturedTask& task, std::size_t lane) {
        if (!task.always && (replay_.failed.load() || stream_.abandoned())) {
            return;
        }
        if (!Timeline::on()) {
            task.run(stream_);
            return;
        }
        const std::int64_t begin = Timeline::now();
        task.run(stream_);
        Timeline::get().add(task.label(), &stream_, stream_.device, static_cast<std::uint32_t>(lane), stream_.running(),
                            begin);
    }

    void await(std::size_t lane, std::size_t count) {
        std::unique_lock<std::mutex> lock(mutex_);
        advanced_.wait(lock, [&] { return done_[lane] >= count; });
    }

    void advance_to(std::size_t lane, std::size_t count) {
        if (done_.empty()) {
            return;
        }
        std::lock_guard<std::mutex> lock(mutex_);
        done_[lane] = count;
        advanced_.notify_all();
    }

    Model& model_;
    Stream& stream_;
    Replay replay_;
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable advanced_;
    std::vector<std::size_t> done_;  // steps that each lane has finished
};

std::size_t Model::add_lane() {
    lanes_.emplace_back();
    return lanes_.size() - 1;
}

std::size_t Model::add_task(std::size_t lane, std::shared_ptr<CapturedTask> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t index = tasks_.size();
    tasks_.emplace_back(std::move(task));
    lanes_[lane].push_back(Step{Step::kTask, index, 0});
    return index;
}

void Model::add_wait(std::size_t lane, std::size_t awaited, std::size_t count) {
    lanes_[lane].push_back(Step{Step::kAwait, awaited, count});
}

void Model::run(Stream& stream) {
    if (!await_turn(stream)) {
        return;
    }
    struct End {  // also when the thread is unwound
        Model& model;
        ~End() { model.end_run(); }
    } end{*this};
    Run(*this, stream).run_all();
}

// Runs take turns in the order in which streams reach them; queueing order could make two streams wait for each other.
// False when the stream was abandoned meanwhile.
bool Model::await_turn(Stream& stream) {
    std::shared_ptr<Recording> turn;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!running_) {
            running_ = true;
            return true;
        }
        turn = waiting_.emplace_back(std::make_shared<Recording>());
    }
    stream.wait_for(turn);
    std::lock_guard<std::mutex> lock(mutex_);
    if (turn->done()) {
        return true;
    }
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), turn));
    return false;
}

void Model::end_run() {
    std::vector<std::shared_ptr<CapturedTask>> replaced;  // destroyed after the lock is released
    std::lock_guard<std::mutex> lock(mutex_);
    replaced.swap(replaced_);
    running_ = !waiting_.empty();
    if (running_) {
        waiting_.front()->complete(ACL_SUCCESS, std::string());
        waiting_.pop_front();
    }
}

void Model::replace(const std::vector<std::size_t>& indices, const std::vector<std::shared_ptr<CapturedTask>>& tasks) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        Place& place = tasks_[indices[i]];
        if (running_) {
            replaced_.push_back(std::move(place.owner));
        }
        place.owner = tasks[i];
        place.current.store(tasks[i].get(), std::memory_order_release);
    }
}

const char* Model::kind_of(std::size_t index) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return tasks_[index].owner->kind;
}

}  // namespace mtsim
