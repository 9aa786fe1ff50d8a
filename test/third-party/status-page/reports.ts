import { defineCode, errorExplanationSlot, Fault, type Kernel } from 'sluice/plugin'

export const tooManyReports = defineCode('too_many_reports', 429, 6)

export const explained = errorExplanationSlot.fill({
  code: tooManyReports,
  when: 'visitors have sent 1,000 reports within an hour',
  remedy: 'try again in an hour, or let an operator clear the reports'
})

/** Problem reports of the last hour. */
export interface Reports {
  count(): number
  /** Returns the times of the reports in ms since 1970, the oldest first. */
  times(): number[]
  /** Throws `too_many_reports` over the limit. */
  add(): void
  clear(): void
}

const maxReports = 1000

const hourMs = 3_600_000

export function openReports({ clock }: Pick<Kernel, 'clock'>): Reports {
  let found: { readonly at: number; readonly read: number }[] = [] // `at` is shown, `read` is compared
  const recent = () => found.filter(({ read }) => read > clock.monotonic() - hourMs)
  return {
    count: () => recent().length,
    times: () => recent().map(({ at }) => at),
    add() {
      found = [...recent(), { at: clock.now(), read: clock.monotonic() }]
      if (found.length > maxReports)
        throw new Fault(
          tooManyReports,
          `the limit of ${maxReports} reports per hour is reached; try again in an hour`
        )
    },
    clear() {
      found = []
    }
  }
}
