// A public page with the states of a user's rules. It refreshes automatically and lets visitors report a problem.
import {
  asFunction,
  consoleCardSlot,
  consolePageSlot,
  definePlugin,
  defineRoute,
  type Kernel,
  page,
  type rules,
  type Static,
  Type
} from 'sluice/plugin'
import { clear, list, reportsCard, reportsPage } from './console.ts'
import { assets, prefix, statusPage } from './page.ts'
import { explained, openReports, type Reports, tooManyReports } from './reports.ts'

const section = Type.Object({
  owner: Type.String({ description: 'The user that owns the rules.' }),
  title: Type.String({ default: 'Status', maxLength: 100, description: 'Title of the page.' })
})

interface Deps extends Kernel<typeof section> {
  readonly config: Static<typeof section>
  readonly rules: rules.Rules
  readonly reports: Reports
}

const maxRows = 200

const show = defineRoute({
  method: 'GET',
  url: prefix,
  action: 'status-page.show',
  access: 'public',
  summary: 'Returns the status page.',
  reply: 'media',
  schema: () => ({ reply: Type.Unknown() }),
  async run({ config: { owner, title }, rules, reports, store }: Deps) {
    const own = rules.list({ owner }, { userId: owner, role: 'user', method: 'system' })
    const found = await store.read(em => own.page('', maxRows, em))
    return page(statusPage({ title, rules: found.map(({ row }) => row), reports: reports.count() }))
  }
})

const report = defineRoute({
  method: 'POST',
  url: `${prefix}/reports`,
  action: 'status-page.report',
  access: 'public',
  summary: 'Counts a problem report by a visitor.',
  reply: 'media',
  takesForm: true,
  schema: () => ({
    body: Type.Object({ works: Type.Literal('no') }, { additionalProperties: false }),
    reply: Type.Unknown()
  }),
  async run({ reports }: Deps) {
    reports.add()
    return { status: 303, type: 'text/plain', body: '', headers: { location: prefix } }
  }
})

export default definePlugin<Deps>({
  name: 'status-page',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  config: section,
  codes: [tooManyReports],
  services: { reports: asFunction(openReports).singleton() },
  fills: [consolePageSlot.fill(reportsPage), consoleCardSlot.fill(reportsCard), explained],
  prefix,
  routes: [show, report, list, clear, ...assets.routes]
})
