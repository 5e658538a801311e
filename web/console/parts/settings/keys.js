/** The API keys of the environment: create, rotate, revoke. A secret is shown once. */
import { h, html, useState } from "../../../vendor/preact.js";
import { words } from "../../../shared/format.js";
import { t } from "../../../shared/i18n.js";
import { usePages } from "../../../shared/resource.js";
import { Dialog } from "../../../shared/ui/dialog.js";
import { Failure } from "../../../shared/ui/failure.js";
import { Field } from "../../../shared/ui/field.js";
import { Copy } from "../../../shared/ui/ident.js";
import { Moment } from "../../../shared/ui/moment.js";
import { More } from "../../../shared/ui/more.js";
import { Empty, Table } from "../../../shared/ui/table.js";
import { act, Button } from "../../../shared/act.js";
import { api, environment, writes } from "../../session.js";

/** @param {{title: string, secret: string, close: () => void}} props */
function Shown({ title, secret, close }) {
  return h(
    Dialog,
    { title, close },
    html`<div class="stack"><div class="command"><code tabindex="0">${secret}</code>${h(Copy, { text: secret, label: t("Copy the key") })}</div>
    <p class="quiet">${t("Save the key now: it is not shown again.")}</p><div class="row"><button type="button" class="button primary" onClick=${close}>${t("I have saved it")}</button></div></div>`,
  );
}

/** @param {{close: () => void, made: (key: any) => void}} props */
function Making({ close, made }) {
  const [draft, setDraft] = useState({ name: "", scope: "read" });
  const [error, setError] = useState(/** @type {any} */ (null));
  const make = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      made(await api.post("/api-keys", { ...draft, environment: environment.value }));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  return h(
    Dialog,
    { title: t("New key"), close },
    html`<form class="form" onSubmit=${make}>
    ${h(Field, { label: t("Name"), value: draft.name, change: (name) => setDraft({ ...draft, name }), required: true, autofocus: true })}
    ${h(Field, {
      label: t("Scope"),
      value: draft.scope,
      change: (scope) => setDraft({ ...draft, scope }),
      options: [
        ["ingest", t("ingest: send events only")],
        ["read", t("read: see everything")],
        ["manage", t("manage: change everything")],
      ],
    })}
    ${error && h(Failure, { error })}<div class="row"><button class="button primary">${t("Create")}</button></div></form>`,
  );
}

export function Keys() {
  const found = usePages(api, "/api-keys", {});
  const [making, setMaking] = useState(false);
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const rotate = async (/** @type {any} */ key) => {
    const next = await act(
      () => api.post(`/api-keys/${key.id}/rotate`),
      t("The previous key works for 24 more hours."),
    );
    if (next) {
      setShown(next);
      found.reload();
    }
  };
  const [ends, setEnds] = useState(/** @type {any} */ (null));
  const revoke = async () => {
    if (await act(() => api.delete(`/api-keys/${ends.id}`), t("{name} is revoked.", { name: ends.name }))) {
      setEnds(null);
      found.reload();
    }
  };
  /** @type {import("../../../shared/ui/table.js").Column<any>[]} */
  const columns = [
    { title: t("Name"), on: "main", cell: (row) => html`<span title=${row.name}>${row.name}</span>` },
    { title: t("Key"), on: "sub", cell: (row) => html`<span class="mono">${row.prefix}…${row.lastFour}</span>` },
    { title: t("Scope"), on: "side", width: "7rem", cell: (row) => row.scope },
    { title: t("Kind"), width: "7rem", cell: (row) => words(row.kind) },
    {
      title: t("Last used"),
      number: true,
      width: "9rem",
      cell: (row) => h(Moment, { at: row.lastUsedAt, relative: true }),
    },
    {
      title: t("Created"),
      number: true,
      width: "9rem",
      cell: (row) => html`<span class="quiet">${h(Moment, { at: row.createdAt })}</span>`,
    },
    ...(writes.value
      ? [
          {
            title: t("Actions"),
            on: /** @type {const} */ ("end"),
            width: "12rem",
            cell: (/** @type {any} */ row) =>
              html`<span class="row">${h(Button, { act: () => rotate(row), kind: "bare" }, t("Rotate"))}${h(Button, { act: async () => setEnds(row), kind: "bare" }, t("Revoke"))}</span>`,
          },
        ]
      : []),
  ];
  return html`<section class="panel"><header><h2>${t("API keys")}</h2>${writes.value && html`<button type="button" class="button primary" data-key="n" onClick=${() => setMaking(true)}>${t("New key")}</button>`}</header>
    ${h(Table, { label: t("API keys"), columns, list: found, id: (row) => row.id, skeleton: 6, empty: h(Empty, { title: t("This environment has no keys.") }) })}
    ${h(More, { list: found })}</section>
    ${
      making &&
      h(Making, {
        close: () => setMaking(false),
        made: (key) => {
          setMaking(false);
          setShown(key);
          found.reload();
        },
      })
    }
    ${shown && h(Shown, { title: shown.name, secret: shown.secret, close: () => setShown(null) })}
    ${
      ends &&
      h(
        Dialog,
        { title: t("Revoke {name}?", { name: ends.name }), close: () => setEnds(null) },
        html`<div class="stack"><p>${t("Requests with this key are refused from now on. This cannot be undone.")}</p>
      <div class="row">${h(Button, { act: revoke, kind: "danger" }, t("Revoke"))}<button type="button" class="button" onClick=${() => setEnds(null)}>${t("Keep it")}</button></div></div>`,
      )
    }`;
}
