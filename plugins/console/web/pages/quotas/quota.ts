import { useQuery } from '@tanstack/react-query'
import { type Row, rows, versioned } from '../../api/call.ts'
import { bytes, percent } from '../../format.ts'
import { text } from '../../text/text.ts'

export type Quota = Row<'GET /v1/quotas'>
type Standing = keyof typeof text.quotas.states

const near = 0.8

/** Reads the quotas of a user, or all if `user` is null. The most used come first. */
export const useQuotas = (user: string | null, refetchInterval?: number) =>
  useQuery({
    ...(refetchInterval !== undefined && { refetchInterval }),
    queryKey: ['quotas', user],
    queryFn: async () =>
      byShare(
        user === null
          ? await rows('GET /v1/quotas')
          : await rows('GET /v1/users/{user_id}/quotas', { path: { user_id: user } })
      )
  })

const byShare = (quotas: readonly Quota[]): readonly Quota[] =>
  quotas.toSorted((a, b) => shareOf(b) - shareOf(a))

export const shareOf = ({ bytes_used: used, monthly_bytes: size }: Quota): number =>
  size === 0 ? 1 : used / size

export const standingOf = (quota: Quota): Standing => {
  if (quota.exhausted) return 'exhausted'
  if (!quota.enforced) return 'pending'
  return shareOf(quota) >= near ? 'near' : 'open'
}

export const toneOf = (quota: Quota): 'good' | 'warn' | 'bad' => {
  if (quota.exhausted) return 'bad'
  return shareOf(quota) >= near ? 'warn' : 'good'
}

export const usageText = (quota: Quota): string =>
  text.quotas.usage(bytes(quota.bytes_used), bytes(quota.monthly_bytes), percent(shareOf(quota)))

export const pathOf = ({ user_id, client_id }: Quota) => ({ user_id, client_id })

export const readQuota = (path: { readonly user_id: string; readonly client_id: string }) =>
  versioned('GET /v1/users/{user_id}/quotas/{client_id}/status', { path })
