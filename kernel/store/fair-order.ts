import { currentPayer } from '../base/request-id.ts'

export type Waiting<C> = C & { readonly payer: string } // '': the server

/** Adds a change before the later turns of other payers. The first of `waiting` is the one that runs. */
export function enqueue<C extends object>(waiting: Waiting<C>[], change: C): void {
  const payer = currentPayer.getStore() ?? ''
  if (waiting.at(-1)?.payer === payer) return void waiting.push({ ...change, payer }) // no turn is later
  const turns = Map.groupBy(waiting, one => one.payer)
  const turn = turns.get(payer)?.length ?? 0
  const later = new Set([...turns.values()].map(changes => changes[turn + 1]))
  const at = waiting.findIndex(one => later.has(one))
  waiting.splice(at === -1 ? waiting.length : at, 0, { ...change, payer })
}

/** True if the current work may have begun in a change of one of these payers. */
export const mayHaveBegunIn = (payers: ReadonlySet<string>): boolean =>
  !currentPayer.getStore() || payers.has('') || payers.has(currentPayer.getStore() ?? '')
