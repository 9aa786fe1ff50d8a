import { type Html, html, openAssets, type rules } from 'sluice/plugin'

export const prefix = '/status'
export const assets = openAssets(new URL('./assets/', import.meta.url), prefix)

interface Shown {
  readonly title: string
  readonly rules: readonly rules.RuleRecord[]
  readonly reports: number
}

export const statusPage = ({ title, rules, reports }: Shown): Html => html`<html lang="en">
<head>
  <meta charset="utf-8"><title>${title}</title>
  <script type="module" src="${assets.path('status.js')}"></script>
</head>
<body>
  <h1>${title}</h1>
  <table id="states">${rules.map(rowOf)}</table>
  <form method="post" action="${prefix}/reports">
    <button name="works" value="no">It does not work for me</button> ${reports} in the last hour
  </form>
</body>
</html>`

const rowOf = ({ client_name, protocol, listen_port, state }: rules.RuleRecord): Html =>
  html`<tr><td>${client_name}</td><td>${protocol} ${listen_port}</td><td>${state}</td></tr>`
