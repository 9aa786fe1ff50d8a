import { createInterface } from 'node:readline/promises'
import { Type } from 'typebox'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { type Api, type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { ruleFieldSlot } from '../rules/exports.ts'
import { type Document, formatDocument, readDocument } from './document.ts'
import { kinds, type World } from './kinds.ts'
import { makePlan, type Step } from './plan.ts'

const File = Type.String({ description: 'TOML or JSON, with [[rules]], [[grants]] and [[quotas]].' })
const prune = Type.Optional(
  Type.Boolean({ description: 'Delete what the file leaves out, of the kinds that it has.' })
)

const renewMs = 20_000

async function worldOf({ api, filled }: Pick<CommandCall<object>, 'api' | 'filled'>): Promise<World> {
  const [me, clients] = await Promise.all([
    api.get<{ user_id: string; role: string }>('/v1/users/me'),
    api.list<World['clients'][number]>('/v1/clients')
  ])
  const hot = filled(ruleFieldSlot).filter(({ value }) => value.change === 'hot')
  return {
    api,
    clients,
    userId: me.user_id,
    isSuperadmin: me.role === 'superadmin',
    hotFields: new Set(hot.map(({ value }) => value.key))
  }
}

function show(plan: readonly Step[], print: CommandCall<object>['print']): void {
  if (plan.length === 0) print.line('nothing to do: the server is as the file says')
  else
    print.data(
      plan,
      ['verb', ['what', ({ label }) => label], ['drops', dropsOf]],
      changesIn(plan) || undefined
    )
}

/** Below the table, which may be cut to the terminal. */
const changesIn = (plan: readonly Step[]): string =>
  plan
    .filter(({ changes }) => changes.length > 0)
    .flatMap(({ label, changes }) => ['', label, ...changes.map(change => `  ${change}`)])
    .map(escapeControlChars)
    .join('\n')

const dropsOf = ({ drops }: Step): string =>
  drops === 0 ? '' : `${drops} live connection${drops === 1 ? '' : 's'}`

const exportAll = defineCommand({
  name: 'export',
  summary: 'Write rules, grants and quotas as a file that `apply` takes.',
  args: Type.Object({
    format: Type.Optional(
      Type.Union([Type.Literal('toml'), Type.Literal('json')], {
        default: 'toml',
        description: 'toml (default) or json'
      })
    )
  }),
  needs: 'api',
  async run(call) {
    const world = await worldOf(call)
    const document: Document = Object.fromEntries(
      await Promise.all(
        kinds.map(async kind => [kind.name, (await kind.present(world)).map(item => kind.shown(item, world))])
      )
    )
    call.print.line(formatDocument(document, call.args.format ?? 'toml'))
  }
})

const diff = defineCommand({
  name: 'diff',
  summary: 'Show what `apply` would do, and from which value to which.',
  args: Type.Object({ file: File, prune }),
  positional: ['file'],
  needs: 'api',
  async run(call) {
    const { file, prune } = call.args
    show(await makePlan(readDocument(file), prune ? 'prune' : 'keep', await worldOf(call)), call.print)
  }
})

const apply = defineCommand({
  name: 'apply',
  summary: 'Bring rules, grants and quotas into the state of a file; shows first what it would do.',
  args: Type.Object({ file: File, prune, yes: Type.Optional(Type.Boolean({ description: 'Do not ask.' })) }),
  positional: ['file'],
  needs: 'api',
  async run(call) {
    const { file, prune, yes } = call.args
    const document = readDocument(file)
    await leased(call.api, async renew => {
      const plan = await makePlan(document, prune ? 'prune' : 'keep', await worldOf(call))
      show(plan, call.print)
      if (plan.length === 0 || !(yes || (await agreed(call)))) return
      for (const step of plan) {
        await renew()
        await step.run()
        call.print.line(`done: ${step.verb} ${step.label}`)
      }
    })
  }
})

/** While another holds the lease, this is refused. */
async function leased(api: Api, work: (renew: () => Promise<void>) => Promise<void>): Promise<void> {
  const { lease_id } = await api.send<{ lease_id: string }>('POST', '/v1/apply-leases')
  const path = `/v1/apply-leases/${lease_id}`
  let renewedAt = Date.now()
  const renew = async (): Promise<void> => {
    if (Date.now() - renewedAt < renewMs) return
    await api.send('PUT', path)
    renewedAt = Date.now()
  }
  try {
    await work(renew)
  } finally {
    await api.send('DELETE', path).catch(() => {}) // it ends by itself, and the work's own error counts
  }
}

async function agreed({ input }: Pick<CommandCall<object>, 'input'>): Promise<boolean> {
  if (!('isTTY' in input) || input.isTTY !== true)
    throw new Fault(wrongUsage, 'nobody can be asked here: look at the plan, then say --yes')
  const terminal = createInterface({ input, output: process.stderr })
  const answer = await terminal.question('Do it? [y/N] ')
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

export const commands = [exportAll, diff, apply]
