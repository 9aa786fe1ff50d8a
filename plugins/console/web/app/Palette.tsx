import { NavLink, Text, TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import { useLocation } from 'wouter'
import type { Page } from '../pages/pages.ts'
import { Dialog } from '../parts/Dialog.tsx'
import { Icon } from '../parts/Icon.tsx'
import { text } from '../text/text.ts'

interface Entry {
  readonly label: string
  readonly icon: string
  readonly to: string
}

const plus = 'M12 5v14M5 12h14'
/** What can be done from anywhere: a page does it when its path ends with /new. */
const actions: Partial<Record<Page['name'], () => string>> = {
  rules: () => text.rules.add,
  edges: () => text.edges.add
}

/** Goes to a page or begins an action, by a few letters of its name. Arrow keys choose, Enter goes, Escape leaves. */
export default function Palette({
  pages,
  onClose
}: {
  readonly pages: readonly Page[]
  readonly onClose: () => void
}) {
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const [, go] = useLocation()
  const id = useId()
  const found = entriesOf(pages).filter(({ label }) =>
    label.toLowerCase().includes(words.trim().toLowerCase())
  )
  const chosen = Math.min(at, found.length - 1)
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    go(entry.to)
  }
  return (
    <Dialog isOpen onClose={onClose} title={text.palette.open}>
      <TextInput
        aria-label={text.palette.open}
        placeholder={text.palette.placeholder}
        data-autofocus
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        value={words}
        onChange={event => {
          setWords(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={event => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (step !== undefined) {
            event.preventDefault()
            setAt((chosen + step + found.length) % Math.max(1, found.length))
          }
          if (event.key === 'Enter') choose(found[chosen])
        }}
        mb="xs"
      />
      <div role="listbox" id={id} aria-label={text.palette.open}>
        {found.map((entry, i) => (
          <NavLink
            key={entry.to}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === chosen}
            component="div"
            tabIndex={-1}
            label={entry.label}
            leftSection={<Icon path={entry.icon} />}
            active={i === chosen}
            onClick={() => choose(entry)}
          />
        ))}
      </div>
      {found.length === 0 && (
        <Text p="sm" c="dimmed" role="status">
          {text.palette.none}
        </Text>
      )}
    </Dialog>
  )
}

const entriesOf = (pages: readonly Page[]): readonly Entry[] => [
  ...pages.map(({ name, path, icon }) => ({ label: text.pages[name], icon, to: path })),
  ...pages.flatMap(({ name, path }) => {
    const label = actions[name]
    return label ? [{ label: label(), icon: plus, to: `${path}/new` }] : []
  })
]
