// The command `label` of each kind of record, and the options and columns that labels add to other commands.
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, type Command, defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'
import {
  type ListOptions,
  listOptionSlots,
  type RecordOptions,
  recordOptionSlots
} from '../http/command-exports.ts'
import { columnSlot, findRuleId, pushOptionsSlot, RuleArg } from '../rules/command-exports.ts'
import { UserArg } from '../users/command-exports.ts'

const Labels = Type.Array(Type.String(), {
  minItems: 1,
  description: 'key=value sets a label; key= sets an empty one; key- removes it.'
})

/** Converts key=value and key- to a merge patch. */
function toPatch(given: readonly string[]): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    given.map(text => {
      const at = text.indexOf('=')
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
      if (at < 0 && text.length > 1 && text.endsWith('-')) return [text.slice(0, -1), null]
      throw new Fault(wrongUsage, `${text || '""'} is not a label: write key=value, key= or key-`)
    })
  )
}

const formatLabels = (labels: unknown): string =>
  Object.entries((labels ?? {}) as Readonly<Record<string, string>>)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(',') || '-'

interface LabelledRecord {
  readonly noun: 'client' | 'user' | 'grant' | 'rule'
  readonly arg: Parameters<typeof Type.Object>[0][string]
  readonly path: (api: Api, id: string) => Promise<string> | string
}

const labelCommand = ({ noun, arg, path }: LabelledRecord): Command =>
  defineCommand({
    name: `${noun} label`,
    summary: `Set and remove labels of a ${noun}.`,
    examples: [`sluice ${noun} label ${noun === 'client' ? 'paris' : 'ID'} env=prod old-`],
    args: Type.Object({ [noun]: arg, label: Labels }),
    positional: [noun, 'label'],
    async run({ api, args, print }) {
      const given = args as unknown as Readonly<Record<string, string>> & {
        readonly label: readonly string[]
      }
      const id = given[noun] ?? ''
      const { labels } = await api.send<{ labels: object }>('PATCH', await path(api, id), {
        labels: toPatch(given.label)
      })
      print.done(`${noun} ${id}: ${formatLabels(labels)}`, { [noun]: id, labels })
    }
  })

const GrantArg = Type.String({ description: 'Id of the grant.', values: ['/v1/grants', 'grant_id'] })

export const commands = [
  labelCommand({
    noun: 'client',
    arg: ClientArg,
    path: async (api, client) => `/v1/clients/${await findClientId(api, client)}`
  }),
  labelCommand({ noun: 'user', arg: UserArg, path: (_, user) => `/v1/users/${encodeURIComponent(user)}` }),
  labelCommand({
    noun: 'grant',
    arg: GrantArg,
    path: (_, grant) => `/v1/grants/${encodeURIComponent(grant)}`
  }),
  labelCommand({
    noun: 'rule',
    arg: RuleArg,
    path: async (api, rule) => `/v1/rules/${await findRuleId(api, rule)}`
  })
]

const creationOptions: RecordOptions = {
  args: {
    label: Type.Optional(
      Type.Array(Type.String(), { description: 'Labels: key=value, or key= for an empty one.' })
    )
  },
  body({ label }) {
    if (label === undefined) return {}
    const labels = toPatch(label as readonly string[])
    const removed = Object.keys(labels).find(key => labels[key] === null)
    if (removed !== undefined)
      throw new Fault(
        wrongUsage,
        `--label ${removed}-: a new record has no label to remove; write ${removed}=VALUE`
      )
    return { labels }
  }
}

const labelListOptions: ListOptions = {
  args: {
    selector: Type.Optional(
      Type.String({
        short: 'l',
        description: "Label selector: 'env=prod,tier!=db,!old,zone in (a,b)'."
      })
    )
  },
  query: ({ selector }) => (selector === undefined ? {} : { selector: String(selector) }),
  columns: [['labels', row => formatLabels((row as { labels?: unknown }).labels)]]
}

export const fills = [
  pushOptionsSlot.fill(creationOptions),
  recordOptionSlots.enrollment.fill(creationOptions),
  recordOptionSlots.user.fill(creationOptions),
  recordOptionSlots.grant.fill(creationOptions),
  listOptionSlots.client.fill(labelListOptions),
  listOptionSlots.user.fill(labelListOptions),
  listOptionSlots.grant.fill(labelListOptions),
  listOptionSlots.link.fill(labelListOptions),
  listOptionSlots.rule.fill({ ...labelListOptions, columns: [] }), // rules have their own slot for columns
  columnSlot.fill(['labels', ({ labels }) => formatLabels(labels)])
]
