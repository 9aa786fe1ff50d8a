// What the palette offers: pages, what can be begun, what can be set, and records by their names.
import { useMantineColorScheme } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'
import type { Me } from '../../api/me.ts'
import type { Page } from '../../pages/pages.ts'
import { chooseLanguage, type Language, languages, text } from '../../text/text.ts'
import { iconOf, type Part, pathOf, titleOf } from '../plugins/plugin-parts.ts'
import { useSignOut } from '../use-sign-out.ts'

export interface Entry {
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly icon: string
  readonly run: () => void
}

export interface Shown {
  readonly me: Me
  readonly pages: readonly Page[]
  readonly parts: readonly Part[]
  readonly go: (path: string) => void
  readonly onPassword: () => void
  readonly onKeys: () => void
}

const plus = 'M12 5v14M5 12h14'
const gear = 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3'
const themes = ['auto', 'light', 'dark'] as const

/** Those that are always there. */
export function useFixed({ me, pages, parts, go, onPassword, onKeys }: Shown): readonly Entry[] {
  const { setColorScheme } = useMantineColorScheme()
  const signOut = useSignOut()
  const set = (label: string, hint: string, run: () => void): Entry => ({
    id: `${hint} ${label}`,
    label,
    hint,
    icon: gear,
    run
  })
  const { account, title } = text.palette
  return [
    ...pages.map(({ name, path, icon }) => ({
      id: path,
      label: text.pages[name],
      hint: title.page,
      icon,
      run: () => go(path)
    })),
    ...parts
      .filter(({ on }) => on === 'page')
      .map(part => ({
        id: pathOf(part),
        label: titleOf(part),
        hint: title.page,
        icon: iconOf(part),
        run: () => go(pathOf(part))
      })),
    ...pages.flatMap(({ path, adds }) =>
      adds && (adds.role === undefined || adds.role === me.role)
        ? [{ id: `${path}/new`, label: adds.label(), icon: plus, run: () => go(`${path}/new`) }]
        : []
    ),
    ...themes.map(theme => set(text.theme[theme], text.theme.title, () => setColorScheme(theme))),
    ...(Object.keys(languages) as Language[]).map(name =>
      set(languages[name], text.language, () => chooseLanguage(name))
    ),
    set(text.keys.title, title.help, onKeys),
    set(text.changePassword, account, onPassword),
    set(text.signOut, account, () => signOut.mutate())
  ]
}

/** Records, as soon as somebody types: they may be many. */
export function useRecords({ me, pages, go }: Shown, isAsked: boolean): readonly Entry[] {
  const pageOf = (name: string): Page | undefined => pages.find(page => page.name === name)
  const asked = { refetchInterval: false, staleTime: 30_000, gcTime: 60_000 } as const
  const edges = useQuery({
    ...asked,
    queryKey: ['palette', 'edges'],
    queryFn: () => rows('GET /v1/clients'),
    enabled: isAsked
  })
  const rules = useQuery({
    ...asked,
    queryKey: ['palette', 'rules'],
    queryFn: () => rows('GET /v1/rules'),
    enabled: isAsked
  })
  const users = useQuery({
    ...asked,
    queryKey: ['palette', 'users'],
    queryFn: () => rows('GET /v1/users'),
    enabled: isAsked && me.role === 'superadmin'
  })
  const entriesOf = <R>(name: string, found: readonly R[] | undefined, of: (row: R) => [string, string]) => {
    const page = pageOf(name)
    if (page === undefined) return []
    return (found ?? []).map((row): Entry => {
      const [id, label] = of(row)
      const path = `${page.path}/${id}`
      return { id: path, label, hint: text.pages[page.name], icon: page.icon, run: () => go(path) }
    })
  }
  return [
    ...entriesOf('edges', edges.data, ({ client_id, client_name }) => [client_id, client_name]),
    ...entriesOf('rules', rules.data, rule => [rule.rule_id, ruleLabel(rule)]),
    ...entriesOf('users', users.data, ({ user_id, display_name }) => [user_id, `${user_id} ${display_name}`])
  ]
}

function ruleLabel({ client_name, listen_port, protocol, targets }: Row<'GET /v1/rules'>): string {
  const to = targets.map(({ host, port }) => `${host}:${port}`).join(', ')
  return `${client_name ?? ''} ${listen_port}/${protocol} → ${to}`.trim()
}

const maxShown = 40

/** Those that have every word, first those that begin with what was typed. */
export function matching(entries: readonly Entry[], typed: string): readonly Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const found = entries.filter(({ label, hint = '' }) => {
    const all = `${label} ${hint}`.toLowerCase()
    return words.every(word => all.includes(word))
  })
  const isFirst = ({ label }: Entry): boolean => label.toLowerCase().startsWith(words.join(' '))
  return [...found.filter(isFirst), ...found.filter(entry => !isFirst(entry))].slice(0, maxShown)
}
