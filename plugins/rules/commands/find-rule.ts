// The RULE argument of commands. All commands read it in the same way.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { isId } from '../../../kernel/platform/id.ts'
import { findClientId } from '../../clients/command-exports.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { ruleNotFound } from '../codes.ts'
import { isRuleName } from '../names/is-rule-name.ts'
import { formatClient, formatListen } from './print-rule.ts'
import { queryText, rulePath } from './request-parts.ts'

/** Completed in a shell: names, and places such as paris:8080/tcp. */
export const ruleValues = { values: ['/v1/rules', 'name,client_name:listen_port/protocol'] } as const

export const ruleForms = 'a name, CLIENT/NAME, CLIENT:PORT, CLIENT:PORT/udp, an id, or 8 characters of an id'

export const RuleArg = Type.String({ description: `The rule: ${ruleForms}.`, ...ruleValues })

type Reader = Pick<Api, 'get' | 'list'>

/**
 * Returns the id of the rule. Reads the text as an id, CLIENT:PORT[/udp], CLIENT/NAME, a name, or the beginning of an id,
 * in this order; the first that exists counts. Throws `rule_not_found`, or `usage` with all rules that match. A whole id is
 * returned without a request.
 */
export const findRuleId = async (api: Reader, text: string): Promise<string> =>
  isId(text) ? text : (await findNamed(api, text)).rule_id

/** Returns the ids of the rules, each once. */
export const findRuleIds = async (api: Reader, texts: readonly string[]): Promise<string[]> => [
  ...new Set(await Promise.all(texts.map(text => findRuleId(api, text))))
]

/** Returns the record of the rule; see `findRuleId`. */
export const findRule = async (api: Reader, text: string): Promise<RuleRecord> =>
  isId(text) ? api.get<RuleRecord>(rulePath(text)) : findNamed(api, text)

async function findNamed(api: Reader, text: string): Promise<RuleRecord> {
  for (const list of forms) {
    const found = withoutDraining(await list(api, text))
    const [only, other] = found
    if (other) throw ambiguous(text, found)
    if (only) return only
  }
  throw await notFound(api, text)
}

/** Throws if the client or the owner that a list was filtered by does not exist. */
export async function requireExisting(
  api: Reader,
  { client, owner }: { readonly client?: string | undefined; readonly owner?: string | undefined }
): Promise<void> {
  if (client !== undefined) await findClientId(api, client)
  if (owner !== undefined) await api.get(`/v1/users/${encodeURIComponent(owner)}`)
}

type ListRules = (api: Reader, text: string) => Promise<readonly RuleRecord[]>

const listRules = (api: Reader, filter: Parameters<typeof queryText>[0]): Promise<RuleRecord[]> =>
  api.list<RuleRecord>(`/v1/rules${queryText(filter)}`)

const placeForm = /^(?<client>.+):(?<port>\d{1,5})(?:\/(?<protocol>tcp|udp))?$/is

/** Splits CLIENT:PORT or CLIENT:PORT/PROTOCOL at the last colon. Returns null for other text. */
export function parsePlace(text: string) {
  const { client, port, protocol } = placeForm.exec(text)?.groups ?? {}
  return client === undefined
    ? null
    : { client, port: Number(port), protocol: protocol?.toLowerCase() ?? 'tcp' }
}

const byPlace: ListRules = async (api, text) => {
  const { client, port = 0, protocol } = parsePlace(text) ?? {}
  if (port < 1 || port > 65_535) return []
  return (await listRules(api, { client, port })).filter(rule => rule.protocol === protocol)
}

/** Splits CLIENT/NAME at the last slash. */
const splitName = (text: string) => ({
  client: text.slice(0, Math.max(0, text.lastIndexOf('/'))),
  name: text.slice(text.lastIndexOf('/') + 1)
})

const byClientAndName: ListRules = async (api, text) => {
  const { client, name } = splitName(text)
  return client !== '' && isRuleName(name) ? listRules(api, { client, name }) : []
}

const byName: ListRules = async (api, text) => (isRuleName(text) ? listRules(api, { name: text }) : [])

const byIdPrefix: ListRules = async (api, text) =>
  /^[0-9A-Z]{8,25}$/.test(text)
    ? (await listRules(api, {})).filter(({ rule_id }) => rule_id.startsWith(text))
    : []

const forms = [byPlace, byClientAndName, byName, byIdPrefix]

/** A rule that is being removed counts only if no other rule matches: its port and its name are free. */
function withoutDraining(found: readonly RuleRecord[]): readonly RuleRecord[] {
  const present = found.filter(({ state }) => state !== 'draining')
  return present.length > 0 ? present : found
}

const maxShown = 10

function ambiguous(text: string, found: readonly RuleRecord[]): Fault {
  const lines = found
    .slice(0, maxShown)
    .map(
      rule =>
        `  ${[rule.rule_id, formatClient(rule), formatListen(rule), rule['name'] ?? '-'].join('  ')}  of ${rule.owner}`
    )
  const more = found.length > maxShown ? [`  and ${found.length - maxShown} more`] : []
  const message = `${text} matches ${found.length} rules; give CLIENT:PORT, CLIENT/NAME or an id:`
  return new Fault(wrongUsage, [message, ...lines, ...more].join('\n'))
}

async function notFound(api: Reader, text: string): Promise<Fault> {
  const place = parsePlace(text)
  const client = place?.client ?? splitName(text).client
  if (client !== '') await findClientId(api, client) // throws if there is none
  if (!place) return new Fault(ruleNotFound, `there is no rule ${text}: give ${ruleForms}`)
  const { protocol, port } = place
  const other = protocol === 'tcp' ? 'udp' : 'tcp'
  const isOther = (await byPlace(api, `${client}:${port}/${other}`)).length > 0
  const hint = isOther ? `; its ${other} rule is ${client}:${port}/${other}` : ''
  return new Fault(ruleNotFound, `no rule listens on ${protocol} port ${port} of ${client}${hint}`)
}
