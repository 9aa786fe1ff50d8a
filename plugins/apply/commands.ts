import { systemClock } from '../../kernel/base/clock.ts'
import { ackTimeout } from '../../kernel/base/errors.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type Api, type CommandCall, defineCommand, type Print } from '../../kernel/cli/command.ts'
import {
  deliveryArgs,
  documentClientsSlot,
  documentKindSlot,
  documentPlaceSlot,
  liveTrafficSlot
} from '../rules/command-exports.ts'
import { type Document, formatDocument, readDocument } from './document.ts'
import { listKinds, openDocumentContext } from './document-context.ts'
import { makePlan, type Plan, type Step } from './plan.ts'
import { prefixFault } from './prefix-fault.ts'
import { runPlan, type StepReport } from './run-plan.ts'
import { usersKind } from './users-kind.ts'

const File = Type.String({
  description:
    'TOML or JSON file with a list for each kind: [[rules]], [[grants]], ...; - reads standard input.'
})
const prune = Type.Optional(
  Type.Boolean({ description: 'Delete objects that are not in the file, only of kinds that the file has.' })
)

const differenceExit = 9 // no error has this exit code
const ExitCode = Type.Optional(
  Type.Boolean({ description: `Exit with ${differenceExit} if something differs.` })
)

const reads = [documentKindSlot, documentPlaceSlot, documentClientsSlot, liveTrafficSlot] // includes the slots that kinds read

const renewMs = 20_000

const offlineCode = 'client_not_connected'

function printPlan({ steps }: Plan, print: Print): void {
  if (steps.length === 0) print.done('nothing to do: the server matches the file', [])
  else
    print.data(
      steps.map(describeStep),
      ['verb', ['what', ({ label }) => label], ['drops', formatDrops]],
      formatChanges(steps) || undefined
    )
}

const describeStep = ({ verb, label, changes, drops }: Step) => ({ verb, label, changes, drops })
type StepDescription = ReturnType<typeof describeStep>

/** Returns the changes, to print below the table, where they are not cut to the terminal's width. */
const formatChanges = (plan: readonly Step[]): string =>
  plan
    .filter(({ changes }) => changes.length > 0)
    .flatMap(({ label, changes }) => ['', label, ...changes.map(change => `  ${change}`)])
    .map(escapeControlChars)
    .join('\n')

const listKindNames = (call: Pick<CommandCall<object>, 'filled'>): string[] =>
  listKinds(call).map(({ name }) => name)

const formatDrops = ({ drops }: StepDescription): string =>
  drops === 0 ? '' : `${drops} live connection${drops === 1 ? '' : 's'}`

const exportAll = defineCommand({
  name: 'export',
  summary: 'Print rules, grants and other objects as a file for `apply`.',
  examples: ['sluice export > fleet.toml'],
  args: Type.Object({
    format: Type.Optional(
      Type.Union([Type.Literal('toml'), Type.Literal('json')], {
        default: 'toml',
        description: 'toml (default) or json.'
      })
    )
  }),
  reads,
  async run(call) {
    const context = await openDocumentContext(call)
    const lists = listKinds(call).map(async kind => {
      const items = await kind.list(context)
      const shown = items.filter(({ isImplicit = false }) => !isImplicit)
      return [kind.name, shown.map(item => kind.format(item, context))] as const
    })
    const document: Document = Object.fromEntries(await Promise.all(lists))
    const { format = call.print.format === 'json' ? 'json' : 'toml' } = call.args
    call.print.text(formatDocument(document, format))
  }
})

const diff = defineCommand({
  name: 'diff',
  summary: 'Show the plan of `apply`, with old and new values.',
  examples: ['sluice diff fleet.toml', 'sluice diff fleet.toml --prune --exit-code'],
  args: Type.Object({ file: File, prune, exit_code: ExitCode }),
  positional: ['file'],
  reads,
  async run(call) {
    const { file, prune, exit_code: isExitCode = false } = call.args
    const { entries, delivery } = await readDocument(file, listKindNames(call))
    const context = await openDocumentContext(call, delivery)
    const plan = await makePlan(entries, prune ? 'prune' : 'keep', context)
    printPlan(plan, call.print)
    return isExitCode && plan.steps.length > 0 ? differenceExit : 0
  }
})

const apply = defineCommand({
  name: 'apply',
  summary: 'Change rules, grants and other objects to match a file; shows the plan first.',
  examples: [
    'sluice apply fleet.toml',
    'sluice apply - --prune --yes < fleet.toml',
    'sluice apply fleet.toml --if-offline queue'
  ],
  args: Type.Object({ file: File, prune, ...deliveryArgs, yes: Yes }),
  positional: ['file'],
  reads,
  async run(call) {
    const { file, prune, if_offline, existing, ack_timeout_secs } = call.args
    const { entries, delivery } = await readDocument(file, listKindNames(call))
    const given = Object.entries({ if_offline, existing, ack_timeout_secs }).filter(
      ([, value]) => value != null
    )
    const context = await openDocumentContext(call, { ...delivery, ...Object.fromEntries(given) })
    return withLease(call.api, async beforeStep => {
      const plan = await makePlan(entries, prune ? 'prune' : 'keep', context)
      const { steps } = plan
      if (steps.length === 0) return finish(plan, [], call.print)
      if (call.print.format === 'table') printPlan(plan, call.print)
      const losses = async () => (call.print.format === 'json' ? steps.map(describeBriefly) : [])
      await call.confirm('Apply these changes?', { unattended: 'refuse', losses })
      const reports: StepReport[] = []
      const report = (one: StepReport): void => {
        reports.push(one)
        call.print.note(formatReport(one))
      }
      await runPlan(steps, { beforeStep, report }).catch(error => {
        printReports(reports, call.print)
        throw reports.length === 0 ? error : prefixFault(`${countDone(reports, steps)} done`, error)
      })
      return finish(plan, reports, call.print)
    })
  }
})

const formatReport = ({ step: { verb, label }, result, reason }: StepReport): string =>
  `${result}: ${verb} ${label}${reason === '' || reason === result ? '' : `: ${reason}`}`

const describeBriefly = ({ verb, label }: Step): string => `${verb} ${label}`

const countDone = (reports: readonly StepReport[], steps: readonly Step[]): string =>
  `${reports.filter(({ result }) => result === 'done').length} of ${steps.length} steps are`

/** In a table, the notes of the steps have said the same. */
function printReports(reports: readonly StepReport[], print: Print): void {
  if (print.format === 'json')
    print.data(reports.map(({ step, result, reason }) => ({ ...describeStep(step), result, reason })))
}

/** Returns the exit code. Throws the fault of an offline client, else the first fault. */
function finish(plan: Plan, reports: readonly StepReport[], print: Print): number {
  if (plan.steps.length === 0) printPlan(plan, print)
  else printReports(reports, print)
  for (const text of plan.unsettled) print.note(text)
  const faults = reports.flatMap(({ fault }) => fault ?? [])
  const fault = faults.find(({ errorCode: { code } }) => code === offlineCode) ?? faults[0]
  if (fault) throw prefixFault(`${countDone(reports, plan.steps)} done, ${faults.length} refused`, fault)
  const isUnsettled = plan.unsettled.length > 0 || reports.some(({ result }) => result === 'pending')
  return isUnsettled ? ackTimeout.exit : 0
}

/**
 * Runs the work with a lease, and renews it until the work ends. The work calls `beforeStep`, which throws if the lease is
 * lost. Throws `apply_in_progress` while another run holds the lease.
 */
async function withLease(
  api: Api,
  work: (beforeStep: () => Promise<void>) => Promise<number>
): Promise<number> {
  const { lease_id } = await api.send<{ lease_id: string }>('POST', '/v1/apply-leases')
  const path = `/v1/apply-leases/${lease_id}`
  let renewal: Promise<unknown> = Promise.resolve()
  const stopRenewal = systemClock.every(renewMs, () => {
    renewal = renewal.then(() => api.send('PUT', path))
    renewal.catch(() => {}) // the next step reports it
  })
  try {
    return await work(async () => void (await renewal))
  } finally {
    stopRenewal()
    await renewal.catch(() => {}) // a renewal that arrives later would find no lease
    await api.send('DELETE', path).catch(() => {}) // the lease expires anyway, and must not hide an error of the work
  }
}

export const commands = [exportAll, diff, apply]
export const fills = [usersKind]
