import { systemClock } from '../../kernel/base/clock.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type Api, type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { documentKindSlot, documentPlaceSlot, liveTrafficSlot } from '../rules/command-exports.ts'
import { type Document, formatDocument, readDocument } from './document.ts'
import { listKinds, openDocumentContext } from './document-context.ts'
import { makePlan, type Step } from './plan.ts'
import { prefixFault } from './prefix-fault.ts'
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

const reads = [documentKindSlot, documentPlaceSlot, liveTrafficSlot] // includes the slots that kinds read

const renewMs = 20_000

function printPlan(plan: readonly Step[], print: CommandCall<object>['print']): void {
  if (plan.length === 0) print.done('nothing to do: the server matches the file', [])
  else
    print.data(
      plan,
      ['verb', ['what', ({ label }) => label], ['drops', formatDrops]],
      formatChanges(plan) || undefined
    )
}

/** Returns the changes, to print below the table, where they are not cut to the terminal's width. */
const formatChanges = (plan: readonly Step[]): string =>
  plan
    .filter(({ changes }) => changes.length > 0)
    .flatMap(({ label, changes }) => ['', label, ...changes.map(change => `  ${change}`)])
    .map(escapeControlChars)
    .join('\n')

const listKindNames = (call: Pick<CommandCall<object>, 'filled'>): string[] =>
  listKinds(call).map(({ name }) => name)

const formatDrops = ({ drops }: Step): string =>
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
    const lists = listKinds(call).map(
      async kind => [kind.name, (await kind.list(context)).map(item => kind.format(item, context))] as const
    )
    const document: Document = Object.fromEntries(await Promise.all(lists))
    call.print.line(formatDocument(document, call.args.format ?? 'toml'))
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
    const document = readDocument(file, listKindNames(call))
    const plan = await makePlan(document, prune ? 'prune' : 'keep', await openDocumentContext(call))
    printPlan(plan, call.print)
    return isExitCode && plan.length > 0 ? differenceExit : 0
  }
})

const apply = defineCommand({
  name: 'apply',
  summary: 'Change rules, grants and other objects to match a file; shows the plan first.',
  examples: ['sluice apply fleet.toml', 'sluice apply - --prune --yes < fleet.toml'],
  args: Type.Object({ file: File, prune, yes: Yes }),
  positional: ['file'],
  reads,
  async run(call) {
    const { file, prune } = call.args
    const document = readDocument(file, listKindNames(call))
    await withLease(call.api, async renew => {
      const plan = await makePlan(document, prune ? 'prune' : 'keep', await openDocumentContext(call))
      printPlan(plan, call.print)
      if (plan.length === 0) return
      await call.confirm('Apply these changes?', { unattended: 'refuse' })
      for (const [done, step] of plan.entries()) {
        await renew()
        await step.run().catch(error => {
          const before = done === 0 ? '' : `${done} of ${plan.length} steps are done; `
          throw prefixFault(`${before}${step.verb} ${step.label}`, error)
        })
        call.print.line(`done: ${step.verb} ${step.label}`)
      }
    })
  }
})

/** Runs the work with a lease. Throws `apply_in_progress` while another run holds the lease. */
async function withLease(api: Api, work: (renew: () => Promise<void>) => Promise<void>): Promise<void> {
  const { lease_id } = await api.send<{ lease_id: string }>('POST', '/v1/apply-leases')
  const path = `/v1/apply-leases/${lease_id}`
  let renewedAt = systemClock.monotonic()
  const renew = async (): Promise<void> => {
    if (systemClock.monotonic() - renewedAt < renewMs) return
    await api.send('PUT', path)
    renewedAt = systemClock.monotonic()
  }
  try {
    await work(renew)
  } finally {
    await api.send('DELETE', path).catch(() => {}) // the lease expires anyway, and must not hide an error of the work
  }
}

export const commands = [exportAll, diff, apply]
export const fills = [usersKind]
