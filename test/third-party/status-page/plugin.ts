// A public page with the states of a user's rules, that renews itself, and where visitors say that something does not work.
import {
  asFunction,
  defineCode,
  definePlugin,
  defineRoute,
  Fault,
  type Kernel,
  page,
  type rules,
  type Static,
  Type
} from 'sluice/plugin'
import { assets, prefix, statusPage } from './page.ts'

const section = Type.Object({
  owner: Type.String({ description: 'The user whose rules are shown.' }),
  title: Type.String({ default: 'Status', maxLength: 100, description: 'Title of the page.' })
})
const tooManyReports = defineCode('too_many_reports', 429, 6)

interface Deps extends Kernel<typeof section> {
  readonly config: Static<typeof section>
  readonly rules: rules.Rules
  readonly reports: ReturnType<typeof openReports>
}

const [maxRows, maxReports, hourMs] = [200, 1000, 3_600_000]

function openReports({ clock }: Kernel) {
  let times: number[] = []
  const recent = (): number[] => times.filter(time => time > clock.monotonic() - hourMs)
  return {
    count: () => recent().length,
    add() {
      times = [...recent(), clock.monotonic()]
      if (times.length > maxReports) throw new Fault(tooManyReports, 'we know: try again in an hour')
    }
  }
}

const show = defineRoute({
  method: 'GET',
  url: prefix,
  action: 'status-page.show',
  access: 'public',
  summary: 'The page.',
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
  summary: 'Counts a visitor for whom something does not work.',
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
  prefix,
  routes: [show, report, ...assets.routes]
})
