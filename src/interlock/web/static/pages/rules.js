// To be built.

import { html } from "../html.js";
import { Page } from "../parts.js";

export const Rules = () => html`<${Page} title="Rules" />`;
