// Checks whether one order of all calls explains every read of a register. Its writer writes ascending values, one
// after another: a read must not be behind an acknowledged write or an earlier read, nor ahead of all writes.
//
// There are two exceptions. A write without acknowledgement may be applied late, over later ones. A write that the new
// primary lacks may be applied again if a server still retries it, since the record of its key is lost. Such a loose
// write may be read at any time, but never again after another value was read or written over it.
import { acknowledgedAt, type Era, erasOf, isLoose, type Read, type Register, type Write } from './history.ts'
import type { StandbyPromotion } from './run-log.ts'

/** Returns the reads that no order explains. */
export function unexplainedReads(register: Register, promoted: StandbyPromotion | undefined): object[] {
  const eras = erasOf(register.ruleId, promoted)
  const judges = eras.map(era => ({ era, judge: judgeOf(register.writes, era) }))
  return register.reads.flatMap(read => {
    const whole = judges.filter(({ era }) => read.began > era.from && read.ended < era.until)
    const verdicts = (whole.length > 0 ? whole : judges).map(({ judge }) => judge(read, whole.length > 0))
    const why = verdicts.includes(null) ? null : verdicts[0]
    return why ? [{ ruleId: register.ruleId, why, read }] : []
  })
}

/** Checks reads of one era, in start order. A read that may belong to another era does not constrain later ones. */
function judgeOf(writes: readonly Write[], era: Era) {
  const byValue = new Map(writes.map(write => [write.value, write]))
  const acknowledged = writes
    .map(write => ({ ...write, ended: acknowledgedAt(write, era) }))
    .filter(({ ended }) => Number.isFinite(ended))
  const ordinary = new Set([era.first, ...acknowledged.map(({ value }) => value)])
  const seen: Read[] = []
  const loose = new Map<number, Read>() // by value: the read that ended first

  const leastOf = ({ began }: Read): number =>
    Math.max(
      era.first,
      acknowledged.findLast(({ ended }) => ended < began)?.value ?? 0,
      ...seen.filter(({ ended }) => ended < began).map(({ value }) => value)
    )
  /** True if another value was there after `earlier`, and before `read`. */
  const isOver = (earlier: Read, read: Read): boolean =>
    [...seen, ...acknowledged].some(({ began, ended }) => began > earlier.ended && ended < read.began)

  function ofLoose(read: Read, binds: boolean): string | null {
    const earlier = loose.get(read.value)
    if (earlier && isOver(earlier, read)) return 'back after another one was written over it'
    if (binds && (!earlier || read.ended < earlier.ended)) loose.set(read.value, read)
    return null
  }

  return (read: Read, binds: boolean): string | null => {
    if (read.value !== 0 && (byValue.get(read.value)?.began ?? Infinity) > read.ended)
      return 'not written yet'
    if (!ordinary.has(read.value)) {
      const write = byValue.get(read.value)
      return write && isLoose(write, era) ? ofLoose(read, binds) : 'of a write that was lost'
    }
    if (read.value < leastOf(read)) return 'behind an acknowledged write or an earlier read'
    if (binds) seen.push(read)
    return null
  }
}
