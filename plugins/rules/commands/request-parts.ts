// Arguments and request parts that commands of rules share.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'

/** Completed in a shell: rules by id. */
export const ruleIds = { values: ['/v1/rules', 'rule_id'] } as const

export const RuleArg = Type.String({ description: 'Id of the rule.', ...ruleIds })

export const Wait = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 60,
    description: 'How long the server waits for the client; default 5.'
  })
)

export const rulePath = (rule: string): string => `/v1/rules/${encodeURIComponent(rule)}`

/** Returns '?' and the parameters that are given, or ''. */
export function queryText(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]]
  )
  const query = new URLSearchParams(given as [string, string][]).toString()
  return query === '' ? '' : `?${query}`
}

/** Parses host:port[@priority][*weight]. */
export function parseTarget(text: string) {
  const [, host = '', port, priority, weight] =
    /^(\[[^\]]*\]|[^:@[\]]+):(\d{1,5})(?:@(\d{1,5}))?(?:\*(\d{1,3}))?$/.exec(text) ?? []
  if (port === undefined)
    throw new Fault(
      wrongUsage,
      `TARGET ${text} is not host:port, host:port@priority or host:port@priority*weight; an IPv6 host is in brackets`
    )
  return {
    host,
    port: Number(port),
    ...(priority !== undefined && { priority: Number(priority) }),
    ...(weight !== undefined && { weight: Number(weight) })
  }
}
