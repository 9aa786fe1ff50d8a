import { useQuery } from '@tanstack/react-query'
import { isMissingRoute } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'

/** Bytes per second in and out, by the id of the rule. */
export type RuleRates = ReadonlyMap<string, number>

const windowSecs = 60
const maxRules = 100 // of the API
const noRates: RuleRates = new Map()

/** Returns the rates in the last full minute of the rules with most traffic; null without plugin `traffic`. */
export function useRuleRates(): RuleRates | null {
  const { data = noRates, error } = useQuery({
    queryKey: ['rule-rates'],
    refetchInterval: 15_000,
    queryFn: async (): Promise<RuleRates> => {
      const to = Math.floor(Date.now() / 1000 / windowSecs) * windowSecs
      const found = await call('GET /v1/traffic/top', {
        query: { by: 'rule', limit: maxRules, from: to - windowSecs, to }
      })
      return new Map(
        found.map(({ key, bytes_in, bytes_out }) => [key, (bytes_in + bytes_out) / windowSecs] as const)
      )
    }
  })
  return isMissingRoute(error) ? null : data
}
