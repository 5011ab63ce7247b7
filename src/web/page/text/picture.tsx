// A picture from its bytes. It gets an address of its own that only this page can use, and gives it back.
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Picture } from '../../../event/pictures.ts'

export function PictureView({ picture }: { picture: Picture }): JSX.Element {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    let made: string | undefined
    try {
      const bytes = Uint8Array.from(atob(picture.base64), (char) => char.charCodeAt(0))
      made = URL.createObjectURL(new Blob([bytes], { type: picture.type }))
      setUrl(made)
    } catch {
      setUrl(undefined)
    }
    return () => {
      if (made) URL.revokeObjectURL(made)
    }
  }, [picture.base64, picture.type])
  if (!url) return <span class="muted">[{picture.type}]</span>
  return <img class="picture" src={url} alt="from the transcript" />
}
