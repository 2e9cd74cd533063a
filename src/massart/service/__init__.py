"""Decide and reward over HTTP: what is acknowledged is durable, and the model is a function of the log.

How the parts fit, from below:

    clock      time as the log has it: microseconds, never backwards
    store      the rows, and the protocol `Store`; `sql` has what `sqlite` and `postgres` share
    model      `LoopModel`: a bandit that changes by steps of the log only; hashing of requests; the draw of an event
    loop       `Loop`: settings and model; `prepare(request)` makes a decision without changing anything
    learner    `Learner`: joins rewards to decisions and writes steps; models learn them when they are durable
    writer     `Writer`: the thread that writes (group commit) and then answers
    hosts      `Host`: where several processes share a store, one learns and all apply its steps
    engine     `Engine`: all of it; coroutines that return when what they did is durable
    streams    `Streams`: classifiers on the same log; `stream_model` is what they learn with
    replay, exporting, gate, diagnosis, metrics    what is made of the log and of the counts
    keys, errors, http    keys with scopes, errors with a status, bodies within limits: for every API
    types, types_read, stream_types, api, api_read, api_change, api_streams, openapi, app
        API v1, its document, and the ASGI application

Another API is a module with a list of routes made by `http.endpoint(path, method, handler, scope, errors)`, where
`handler(call: Call) -> Response` uses `call.engine`, and `errors(ServiceError) -> Response` writes its own documents.
`make_app(engine, keyring, extra=routes)` serves them beside API v1. What it needs of the engine:

    engine.loop(name) -> Loop                      settings (`extra` is free for its own), model, name
    await engine.create_loop(name, LoopSettings)   and change_settings, reset, replace_model
    await engine.decide(name, DecideRequest)       -> Decided, with the probabilities of all actions
    await engine.decide_all(name, [DecideRequest]) several at once, all or none (one event id each: slots)
    await engine.reward(name, [RewardRequest])     await engine.activate(name, [event_id])
    await engine.read(lambda store: ...)           whatever the store can tell

The baseline is the first action that is not excluded. In the modes "apprentice" and "logging" it is what is returned;
`Decided.preferred` is what the model would have taken. An excluded action has probability 0.
"""
