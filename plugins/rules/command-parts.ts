// What the commands of rules have in common.
import { Fault, internal, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import type { Print } from '../../kernel/cli/command.ts'

export const Wait = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 60,
    description: 'How long the server waits for the client; default 5.'
  })
)

export const pathOf = (rule: string): string => `/v1/rules/${encodeURIComponent(rule)}`

/** Returns '?' and the parameters that are given, or ''. */
export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]]
  )
  const query = new URLSearchParams(given as [string, string][]).toString()
  return query === '' ? '' : `?${query}`
}

/** Parses host:port[@priority]. */
export function targetOf(text: string) {
  const [, host = '', port, priority] = /^(\[[^\]]*\]|[^:@[\]]+):(\d{1,5})(?:@(\d{1,5}))?$/.exec(text) ?? []
  if (port === undefined)
    throw new Fault(
      wrongUsage,
      `TARGET ${text} is not host:port or host:port@priority; an IPv6 host is in brackets`
    )
  return { host, port: Number(port), ...(priority !== undefined && { priority: Number(priority) }) }
}

/**
 * Runs the work for each rule, 8 at once, and says for which it is done: 'removed', 'paused'. None keeps another from
 * it; throws a Fault that names those for which it failed.
 */
export async function onEach(
  ids: readonly string[],
  done: string,
  work: (id: string) => Promise<unknown>,
  print: Print
): Promise<void> {
  const results = await inParallel(ids, work)
  const failed = results.flatMap(({ id, error }) => (error ? [{ id, error }] : []))
  const changed = results.filter(({ error }) => !error).map(({ id }) => id)
  if (failed.length === 0 || changed.length > 0)
    print.done(changed.map(id => `rule ${id} is ${done}`).join('\n') || 'none', { [done]: changed })
  const [first] = failed
  if (first && ids.length === 1) throw first.error
  if (first)
    throw new Fault(
      first.error instanceof Fault ? first.error.errorCode : internal,
      `${failed.length} of ${ids.length} rules are not ${done}:\n${failed.map(({ id, error }) => `${id}: ${reasonOf(error)}`).join('\n')}`
    )
}

const atOnce = 8

/** Runs the work for all, 8 at once; none keeps another from running. */
async function inParallel(ids: readonly string[], work: (id: string) => Promise<unknown>) {
  const results: { readonly id: string; readonly error: unknown }[] = []
  const left = [...ids]
  const run = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift())
      results.push({
        id,
        error: await work(id).then(
          () => null,
          (error: unknown) => error
        )
      })
  }
  await Promise.all(Array.from({ length: atOnce }, run))
  return results
}
