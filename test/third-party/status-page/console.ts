// The plugin's console parts: a page with the reports of visitors, and a card with their number.
import { type ConsoleCard, type ConsolePage, defineList, defineRoute, Type } from 'sluice/plugin'
import type { Reports } from './reports.ts'

interface Deps {
  readonly reports: Reports
}

const part = { module: new URL('./console/reports.js', import.meta.url), role: 'superadmin' } as const

export const reportsPage: ConsolePage = {
  ...part,
  name: 'status-reports',
  title: { en: 'Reports of visitors', de: 'Meldungen von Besuchern' },
  element: 'status-page-reports'
}

export const reportsCard: ConsoleCard = {
  ...part,
  on: 'overview',
  title: { en: 'Status page', de: 'Statusseite' },
  element: 'status-page-count'
}

export const list = defineList({
  url: '/v1/status-page/reports',
  action: 'status-page.reports',
  access: 'superadmin',
  summary: 'Lists the times of problem reports by visitors in the last hour.',
  schema: () => ({ row: Type.Object({ at: Type.String({ format: 'date-time' }) }), errors: [] }),
  run: async ({ reports }: Deps) => reports.times().map(at => ({ at: new Date(at).toISOString() }))
})

export const clear = defineRoute({
  method: 'DELETE',
  url: '/v1/status-page/reports',
  action: 'status-page.clear',
  access: 'superadmin',
  status: 204,
  summary: 'Deletes the reports of visitors.',
  schema: () => ({ reply: Type.Null(), errors: [] }),
  async run({ reports }: Deps, { change }) {
    await change({ kind: 'status-page', id: 'reports' }, async () => {})
    reports.clear()
    return null
  }
})
