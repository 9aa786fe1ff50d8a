// Entries of the command palette: pages, create commands, settings, and records by name.
import { useMantineColorScheme } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'
import type { Me } from '../../api/me.ts'
import { hasRight } from '../../api/rights.ts'
import type { Page } from '../../pages/pages.ts'
import { chooseLanguage, type Language, languages, text } from '../../text/text.ts'
import { iconOf, type PluginPart, pathOf, titleOf } from '../plugins/plugin-parts.ts'
import { useSignOut } from '../use-sign-out.ts'

export interface PaletteEntry {
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly icon: string
  readonly run: () => void
}

export interface PaletteContext {
  readonly me: Me
  readonly pages: readonly Page[]
  readonly parts: readonly PluginPart[]
  readonly go: (path: string) => void
  readonly onPassword: () => void
  readonly onKeys: () => void
}

const plus = 'M12 5v14M5 12h14'
const gear = 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3'
const themes = ['auto', 'light', 'dark'] as const

/** Entries that need no request. */
export function useFixedEntries({
  me,
  pages,
  parts,
  go,
  onPassword,
  onKeys
}: PaletteContext): readonly PaletteEntry[] {
  const { setColorScheme } = useMantineColorScheme()
  const signOut = useSignOut()
  const set = (label: string, hint: string, run: () => void): PaletteEntry => ({
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
    ...pages.flatMap(({ path, create }) =>
      create && hasRight(me, create.needs)
        ? [{ id: `${path}/new`, label: create.label(), icon: plus, run: () => go(`${path}/new`) }]
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

/** Records by name. Read only when the user types, because there may be many. */
export function useRecordEntries(
  { me, pages, go }: PaletteContext,
  isEnabled: boolean
): readonly PaletteEntry[] {
  const pageOf = (name: string): Page | undefined => pages.find(page => page.name === name)
  const clients = useRecords('clients', isEnabled, () => rows('GET /v1/clients'))
  const rules = useRecords('rules', isEnabled, () => rows('GET /v1/rules'))
  const users = useRecords('users', isEnabled && hasRight(me, 'seesAll'), () => rows('GET /v1/users'))
  const toEntries = <R>(name: string, found: readonly R[], describe: (row: R) => [string, string]) => {
    const page = pageOf(name)
    if (page === undefined) return []
    return found.map((row): PaletteEntry => {
      const [id, label] = describe(row)
      const path = `${page.path}/${id}`
      return { id: path, label, hint: text.pages[page.name], icon: page.icon, run: () => go(path) }
    })
  }
  return [
    ...toEntries('clients', clients, ({ client_id, client_name }) => [client_id, client_name]),
    ...toEntries('rules', rules, rule => [rule.rule_id, ruleLabel(rule)]),
    ...toEntries('users', users, ({ user_id, display_name }) => [user_id, `${user_id} ${display_name}`])
  ]
}

const useRecords = <R>(name: string, isEnabled: boolean, read: () => Promise<readonly R[]>): readonly R[] =>
  useQuery({
    queryKey: ['palette', name],
    queryFn: read,
    enabled: isEnabled,
    refetchInterval: false,
    staleTime: 30_000,
    gcTime: 60_000
  }).data ?? []

function ruleLabel({ client_name, listen_port, protocol, targets }: Row<'GET /v1/rules'>): string {
  const to = targets.map(({ host, port }) => `${host}:${port}`).join(', ')
  return `${client_name ?? ''} ${listen_port}/${protocol} → ${to}`.trim()
}

const maxShown = 40

/** Returns entries that contain every word. Entries that start with the text come first. */
export function matchEntries(entries: readonly PaletteEntry[], typed: string): readonly PaletteEntry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const found = entries.filter(({ label, hint = '' }) => {
    const all = `${label} ${hint}`.toLowerCase()
    return words.every(word => all.includes(word))
  })
  const isFirst = ({ label }: PaletteEntry): boolean => label.toLowerCase().startsWith(words.join(' '))
  return [...found.filter(isFirst), ...found.filter(entry => !isFirst(entry))].slice(0, maxShown)
}
