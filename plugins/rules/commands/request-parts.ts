// Arguments and request parts that commands of rules share.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'

export const Wait = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 60,
    description: 'How long the server waits for the client; default 5.'
  })
)

/** Options that name a rule. An empty text removes the value in `rule set`. */
export const nameArgs = {
  name: Type.Optional(
    Type.String({ description: 'Name: a-z, 0-9 and -, unique for the owner on a client.' })
  ),
  description: Type.Optional(Type.String({ description: 'Note for people, at most 255 bytes.' }))
}

export const IfOffline = Type.Optional(
  Type.Union([Type.Literal('refuse'), Type.Literal('queue')], {
    description: 'If the client is offline: refuse (default), or queue the rule until the client is online.'
  })
)

export const Existing = Type.Optional(
  Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')], {
    description: 'Live connections to removed targets or of paused rules: keep (default), drain or cut.'
  })
)

/** Options of commands that create and change rules. */
export const deliveryArgs = { if_offline: IfOffline, existing: Existing, ack_timeout_secs: Wait }

/** Returns the path of a rule by its id; `findRuleId` returns the id. */
export const rulePath = (id: string): string => `/v1/rules/${encodeURIComponent(id)}`

/** Returns '?' and the parameters that are given, or ''. */
export function queryText(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]]
  )
  const query = new URLSearchParams(given as [string, string][]).toString()
  return query === '' ? '' : `?${query}`
}

/** Converts the text of a property that a plugin adds to targets. */
export type TargetProperty = (key: string, text: string) => unknown

/** True if the text of a target has properties of plugins. */
export const hasProperties = (target: string): boolean => target.includes('+')

/** Parses [CLIENT/]...host:port[@priority][*weight][+key=value]... The clients are the path to the target. */
export function parseTarget(text: string, toProperty: TargetProperty = (_, value) => value) {
  const [whole = '', ...more] = text.split(/\+(?=[a-z][a-z0-9_]*=)/)
  const [place = '', ...clients] = whole.split('/').reverse()
  const [, host = '', port, priority, weight] =
    /^(\[[^\]]*\]|[^:@[\]]+):(\d{1,5})(?:@(\d{1,5}))?(?:\*(\d{1,3}))?$/.exec(place) ?? []
  if (port === undefined || clients.includes(''))
    throw new Fault(
      wrongUsage,
      `TARGET ${text} is not host:port, host:port@priority or host:port@priority*weight, with EXIT/ in front for a path and +key=value for other properties; an IPv6 host is in brackets`
    )
  const properties = more.map(pair => {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
    return [key, toProperty(key, value)]
  })
  return {
    host,
    port: Number(port),
    ...(priority !== undefined && { priority: Number(priority) }),
    ...(weight !== undefined && { weight: Number(weight) }),
    ...(clients.length > 0 && { via: clients.reverse() }),
    ...Object.fromEntries(properties)
  }
}
