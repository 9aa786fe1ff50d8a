import { NavLink, Text, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react'
import { Dialog } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { text } from '../../text/text.ts'
import { type Entry, matching, type Shown, useFixed, useRecords } from './palette-entries.ts'

interface Props extends Shown {
  readonly onClose: () => void
}

/** Goes to a page or a record, or does something, by a few letters of its name. Arrow keys choose, Enter goes, Escape leaves. */
export default function Palette({ onClose, ...shown }: Props) {
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const fixed = useFixed(shown)
  const records = useRecords(shown, words.trim() !== '')
  const found = useMemo(
    () => matching(words.trim() === '' ? fixed : [...fixed, ...records], words),
    [fixed, records, words]
  )
  const chosen = Math.min(at, found.length - 1)
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, chosen])
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') choose(found[chosen])
    if (step === undefined) return
    event.preventDefault()
    setAt((chosen + step + found.length) % Math.max(1, found.length))
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
        onKeyDown={onKey}
        mb="xs"
      />
      <div role="listbox" id={id} aria-label={text.palette.open} className="palette">
        {found.map((entry, i) => (
          <NavLink
            key={entry.id}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === chosen}
            component="div"
            tabIndex={-1}
            label={entry.label}
            leftSection={<Icon path={entry.icon} />}
            rightSection={
              entry.hint !== undefined && (
                <Text size="xs" c="dimmed">
                  {entry.hint}
                </Text>
              )
            }
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
