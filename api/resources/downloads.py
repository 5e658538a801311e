"""Downloads by signed URL, without a key. A bad token gets 404."""

from api.call import Answer, Call
from api.resources.content import (
    CONTENT_HEADERS,
    CONTENT_RESPONSES,
    CONTENT_TYPE,
    DESCRIPTION,
    UNSATISFIABLE,
    content_answer,
)
from api.routes import ANYONE, Embed, Route
from engine.model.errors import Refusal
from engine.model.file_records import FileState

TAG = "Files"
TOKEN = {"type": "string", "minLength": 80, "maxLength": 80}


async def download(call: Call) -> Answer:
    """Answer with the file of a token."""
    files = call.services.files
    # Equal for a forged, changed or expired token and for a removed file.
    missing = Refusal("not_found", "no such file, or its URL has expired")
    reading = files.urls.reading(call.path["token"])
    if reading is None:
        raise missing
    environment = call.services.models.environments.get(reading.environment)
    file = await files.library.get(reading.environment, reading.file)
    if environment is None or file is None or file.state is not FileState.STORED:
        raise missing
    return await content_answer(call, file, account=environment.workspace)


ROUTES = (
    Route(
        method="GET",
        path="/downloads/{token}",
        name="downloadFile",
        summary="Read a file by its signed URL",
        description="Answers the URLs that deliveries have in the header `angarium-file-url`. No "
        "credential is needed: the URL gives access to this file until the URL expires."
        f"\n\n{DESCRIPTION}",
        tag=TAG,
        scopes=ANYONE,
        embed=Embed.SHARED,
        handler=download,
        responses=CONTENT_RESPONSES,
        content_type=CONTENT_TYPE,
        answer_headers=CONTENT_HEADERS,
        refusals=(404,),
        codes=(UNSATISFIABLE,),
        environment=False,
        path_schemas={"token": TOKEN},
    ),
)
