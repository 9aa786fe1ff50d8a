// The path of a target: the clients after the entry, in order. Each pair of neighbors on it is a hop, with its link.
import type { Rule } from '../rules/queries.ts'

export type Path = readonly string[] // ids of clients
type Hop = readonly [near: string, far: string]

/** Returns the path of a target: its own, or that of the rule. */
export const pathOf = (rule: Pick<Rule, 'via'>, { via }: Rule['targets'][number]): Path =>
  toPath(via === undefined ? rule.via : via)

const toPath = (via: string | Path | null | undefined): Path =>
  typeof via === 'string' ? [via] : (via ?? [])

/** Returns the hops from an entry. If it is on the path itself, it uses the part after itself. */
const hopsFrom = (entry: string, path: Path): readonly Hop[] => {
  const rest = path.slice(path.indexOf(entry) + 1)
  return rest.map((far, i) => [rest[i - 1] ?? entry, far])
}

/** Returns the clients on which a rule listens. */
const entriesOf = ({ client_id, edges }: Pick<Rule, 'client_id' | 'edges'>): readonly string[] =>
  client_id === null ? (edges ?? []).map(edge => edge.client_id) : [client_id]

/** A hop as the filter of the rule list has it in the URL. */
export const hopKey = (near: string, far: string): string => `${near}/${far}`

export const usesHop = (rule: Rule, hop: string): boolean =>
  rule.targets.some(target =>
    entriesOf(rule).some(entry =>
      hopsFrom(entry, pathOf(rule, target)).some(([near, far]) => hopKey(near, far) === hop)
    )
  )
