"""Evaluations of flags as spans with the names of OpenTelemetry's semantic conventions."""

import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from service_runs import with_engine

from massart.service.app import make_app
from massart.service.ofrep import ROUTES


def test_evaluations_are_spans(tmp_path):
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)

    async def work(engine):
        transport = httpx.ASGITransport(make_app(engine, None, extra=ROUTES))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            await client.put("/v1/loops/colour", json={"actions": [{"id": "red"}, {"id": "blue"}]})
            context = {"context": {"targetingKey": "ann", "town": "Rome"}}
            found = (await client.post("/ofrep/v1/evaluate/flags/colour", json=context)).json()
            assert (await client.post("/ofrep/v1/evaluate/flags/nothing", json=context)).status_code == 404
            assert (await client.post("/ofrep/v1/evaluate/flags", json=context)).status_code == 200
            return found

    found = with_engine(tmp_path / "a.db", work)
    first, failed, together = kept.get_finished_spans()
    assert {one.name for one in (first, failed, together)} == {"feature_flag.evaluation"}
    assert dict(first.attributes) == {
        "feature_flag.key": "colour",
        "feature_flag.provider.name": "massart",
        "feature_flag.result.reason": "split",
        "feature_flag.result.variant": found["variant"],
        "feature_flag.version": str(found["metadata"]["modelVersion"]),
    }
    assert failed.attributes["error.type"] == "flag_not_found"
    assert failed.attributes["feature_flag.result.reason"] == "error"
    assert together.attributes["feature_flag.key"] == "colour"
    assert not any("ann" in str(one.attributes) or "Rome" in str(one.attributes) for one in (first, failed, together))
