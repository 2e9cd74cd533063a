"""Requests made from the OpenAPI document: never a 5xx, and answers are what the document says."""

import collections
import warnings

import pytest
import tiers
from hypothesis import HealthCheck, Phase, given, settings
from service_runs import KEY, served

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jsonschema
    import schemathesis

# Their bodies are no JSON; and a key that removes others would end the test, or the stream that is asked.
LEFT_OUT = ("import_log", "put_model", "change_model", "delete_key", "delete_stream")

VALID = {
    "/v1/loops/{loop}/decide": {"actions": ["a", {"id": "b", "features": {"price": 2.5}}], "event_id": "first"},
    "/v1/loops/{loop}/reward": {"event_id": "first", "reward": 1.0},
    "/v1/streams/{stream}/learn": {"features": {"words": 3}, "label": "spam", "event_id": "row"},
    "/v1/streams/{stream}/predict": {"features": {"words": 3}},
}


@pytest.mark.filterwarnings("ignore")
def test_answers_are_what_the_document_says(tmp_path):
    seen = collections.Counter()
    with served(f"sqlite:///{tmp_path}/a.db", tmp_path) as service:
        service.client.put("/v1/loops/shop", json={"actions": [{"id": "a"}, {"id": "b"}]})
        service.client.put("/v1/streams/mail", json={"hash_bits": 10})
        service.client.post("/v1/streams/mail/learn", json={"features": {"x": 1}, "label": "a"})
        document = service.client.get("/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document)
        for path, body in VALID.items():  # what is generated need not be
            found = service.client.post(path.format(loop="shop", stream="mail"), json=body)
            assert found.status_code == 200, found.text
            said = document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
            jsonschema.validate(found.json(), {**said, "components": document["components"]})

        def check(operation):
            responses = document["paths"][operation.path][operation.method]["responses"]

            @settings(
                max_examples=tiers.length(12, 400), deadline=None, derandomize=True, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck), database=None,
            )  # fmt: skip
            @given(case=operation.as_strategy())
            def send(case):
                if "loop" in (case.path_parameters or {}):
                    case.path_parameters["loop"] = "shop"
                if "stream" in (case.path_parameters or {}):
                    case.path_parameters["stream"] = "mail"
                case.headers = {**(case.headers or {}), "Authorization": f"Bearer {KEY}"}
                found = case.call(base_url=service.url)
                assert found.status_code < 500, (operation.label, found.text, case.body)
                seen[operation.label, found.status_code < 300] += 1
                said = responses.get(str(found.status_code), responses["default"]).get("content", {})
                media = found.headers.get("content-type", [""])[0].partition(";")[0]
                if said and "format=" not in str(found.request.url):
                    assert media in said, (operation.label, media)
                if media in ("application/json", "application/problem+json") and media in said:
                    whole = {**said[media]["schema"], "components": document["components"]}
                    jsonschema.validate(found.json(), whole)

            send()

        for result in schema.get_all_operations():
            operation = result.ok()
            if document["paths"][operation.path][operation.method]["operationId"] not in LEFT_OUT:
                check(operation)
        assert service.client.get("/ready").status_code == 200
        for verb in ("predict", "learn"):
            assert service.client.post(f"/v1/streams/mail/{verb}", json={}).status_code == 422
    assert any(good for _, good in seen)
    assert any(not good for _, good in seen)
