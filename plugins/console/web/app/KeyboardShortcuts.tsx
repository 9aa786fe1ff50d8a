import { Kbd } from '@mantine/core'
import { Dialog } from '../parts/dialog/Dialog.tsx'
import { text } from '../text/text.ts'
import { modifierKey } from './modifier-key.ts'

export default function KeyboardShortcuts({ onClose }: { readonly onClose: () => void }) {
  const rows: readonly (readonly [keys: readonly string[], what: string])[] = [
    [[modifierKey, 'K'], text.palette.open],
    [['/'], text.keys.search],
    [['↑', '↓'], text.keys.choose],
    [['Enter'], text.keys.go],
    [['Esc'], text.keys.leave],
    [['Tab'], text.keys.next],
    [['?'], text.keys.title]
  ]
  return (
    <Dialog isOpen onClose={onClose} title={text.keys.title}>
      <dl className="keys">
        {rows.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map(key => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
