import { defineCode, Fault, type Kernel } from 'sluice/plugin'

export const tooManyReports = defineCode('too_many_reports', 429, 6)

export type Reports = ReturnType<typeof openReports>

const maxReports = 1000

const hourMs = 3_600_000

/** Reports of the last hour. */
export function openReports({ clock }: Pick<Kernel, 'clock'>) {
  let found: { readonly at: number; readonly read: number }[] = [] // `at` is shown, `read` is compared
  const recent = () => found.filter(({ read }) => read > clock.monotonic() - hourMs)
  return {
    count: () => recent().length,
    times: () => recent().map(({ at }) => at),
    add() {
      found = [...recent(), { at: clock.now(), read: clock.monotonic() }]
      if (found.length > maxReports) throw new Fault(tooManyReports, 'we know: try again in an hour')
    },
    clear() {
      found = []
    }
  }
}
