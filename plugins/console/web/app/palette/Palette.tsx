import { NavLink, Text, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { text } from '../../text/text.ts'
import {
  matchEntries,
  type PaletteContext,
  type PaletteEntry,
  useFixedEntries,
  useRecordEntries
} from './palette-entries.ts'

interface Props extends PaletteContext {
  readonly onClose: () => void
}

/** Opens a page or a record, or runs a command. Arrow keys select, Enter runs, Escape closes. */
export default function Palette({ onClose, ...context }: Props) {
  const [words, setWords] = useState('')
  const [index, setIndex] = useState(0)
  const id = useId()
  const found = useFound(context, words)
  const selected = Math.min(index, found.length - 1)
  const run = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') run(found[selected])
    if (step === undefined) return
    event.preventDefault()
    setIndex((selected + step + found.length) % Math.max(1, found.length))
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
        aria-activedescendant={selected >= 0 ? `${id}-${selected}` : undefined}
        value={words}
        onChange={event => {
          setWords(event.currentTarget.value)
          setIndex(0)
        }}
        onKeyDown={onKey}
        mb="xs"
      />
      <PaletteList id={id} entries={found} selected={selected} onRun={run} />
      {found.length === 0 && (
        <Text p="sm" c="dimmed" role="status">
          {text.palette.none}
        </Text>
      )}
    </Dialog>
  )
}

function useFound(context: PaletteContext, words: string): readonly PaletteEntry[] {
  const isEmpty = words.trim() === ''
  const fixed = useFixedEntries(context)
  const records = useRecordEntries(context, !isEmpty)
  return useMemo(
    () => matchEntries(isEmpty ? fixed : [...fixed, ...records], words),
    [fixed, records, words, isEmpty]
  )
}

interface ListProps {
  readonly id: string
  readonly entries: readonly PaletteEntry[]
  readonly selected: number
  readonly onRun: (entry: PaletteEntry) => void
}

function PaletteList({ id, entries, selected, onRun }: ListProps) {
  useEffect(() => {
    document.getElementById(`${id}-${selected}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, selected])
  return (
    <div role="listbox" id={id} aria-label={text.palette.open} className="palette">
      {entries.map((entry, i) => (
        <NavLink
          key={entry.id}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === selected}
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
          active={i === selected}
          onClick={() => onRun(entry)}
        />
      ))}
    </div>
  )
}
