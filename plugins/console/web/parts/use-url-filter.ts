import { useSearchParams } from 'wouter'

/** Filters in the URL, so that other pages can link to a filtered list. An empty value removes the filter. */
export function useUrlFilter<Name extends string>(names: readonly Name[]) {
  const [params, setParams] = useSearchParams()
  const filter = Object.fromEntries(names.map(name => [name, params.get(name) ?? ''])) as Record<Name, string>
  const set = (name: Name, value: string): void =>
    setParams(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true }
    )
  const clear = (): void => setParams(new URLSearchParams(), { replace: true })
  return { filter, set, clear }
}
