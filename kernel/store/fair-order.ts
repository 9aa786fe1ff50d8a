import { currentPayer } from '../base/request-id.ts'

export type Waiting<C> = C & { readonly payer: string } // '': the server

const payerName = (): string => currentPayer.getStore()?.name ?? ''

/** Adds a change before the later turns of other payers. The first of `waiting` is the one that runs. */
export function enqueue<C extends object>(waiting: Waiting<C>[], change: C): void {
  const payer = payerName()
  if (waiting.at(-1)?.payer === payer) return void waiting.push({ ...change, payer }) // no turn is later
  const turns = Map.groupBy(waiting, one => one.payer)
  const turn = turns.get(payer)?.length ?? 0
  const later = new Set([...turns.values()].map(changes => changes[turn + 1]))
  const at = waiting.findIndex(one => later.has(one))
  waiting.splice(at === -1 ? waiting.length : at, 0, { ...change, payer })
}

/** True unless all changes of the group are of the next one's payer: others must not wait for it. */
export const isOfOther = (payers: ReadonlySet<string>, next: Waiting<object> | undefined): boolean =>
  payers.size > 1 || !next || !payers.has(next.payer)

/** True if the current work may have begun in a change of one of these payers. None: the group waits for a lock. */
export const mayHaveBegunIn = (payers: ReadonlySet<string>): boolean =>
  payers.size > 0 && (payerName() === '' || payers.has('') || payers.has(payerName()))
