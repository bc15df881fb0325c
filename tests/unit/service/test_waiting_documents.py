"""The list of what waits: one call that its reader may not see hides none of the others."""

import toolwitness as tw
from tests.unit.bootstrap.desks import a_desk
from toolwitness.service import views
from toolwitness.service.propose import Proposal, open_task, proposal_draft, propose
from toolwitness.service.submit import submit

OLGA = tw.Actor(id="olga", tenant="south")


async def test_a_call_of_a_tenant_in_a_task_of_another_does_not_hide_what_else_waits():
    async with a_desk() as desk:

        @desk.tool(consequences=[tw.FINANCIAL], approvers=["role:finance"])
        async def pay() -> None: ...

        north, south = [await open_task(desk.place, "Pay", tenant=tenant) for tenant in ("north", "south")]
        proposal = Proposal(tool="pay", inputs=b"{}", source_request="m", proposer="p")
        astray = proposal_draft(desk.place, north, proposal, tenant="south", invocation_id="inv_astray")
        await desk.ledger.append(north, [astray])
        own = await propose(desk.place, south, proposal)
        for one in ("inv_astray", own):
            await submit(desk.place, one)

        assert [document["identity"]["invocationId"] for document in await views.waiting_documents(desk.place, OLGA)] == [own]
        assert await views.waiting_documents(desk.place, tw.Actor(id="nils", tenant="north")) == []
