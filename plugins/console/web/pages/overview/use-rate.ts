import { useRef } from 'react'

/** Returns how fast a count grows, in units of a second, between its two last readings; 0 before there are two. */
export function useRate(total: number | undefined, readAt: number): number {
  const last = useRef({ total, readAt, rate: 0 })
  const { current } = last
  if (total !== undefined && readAt > current.readAt) {
    const grown = current.total === undefined ? 0 : Math.max(0, total - current.total) // counts of a deleted rule leave the sum
    last.current = { total, readAt, rate: (grown * 1000) / (readAt - current.readAt) }
  }
  return last.current.rate
}
