// To be built.

import { html } from "../html.js";
import { Page } from "../parts.js";

export const Api = () => html`<${Page} title="Api" />`;
