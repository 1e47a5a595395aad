"""A scene of many kinds of things, drawn offscreen by pygfx and wgpu; prints a digest of the picture."""

import hashlib

import numpy
import pygfx
from rendercanvas.offscreen import RenderCanvas


def random(seed, *shape):
    return numpy.random.RandomState(seed).rand(*shape).astype("f4")


canvas = RenderCanvas(size=(256, 256), pixel_ratio=1)
renderer = pygfx.renderers.WgpuRenderer(canvas)
scene = pygfx.Scene()
scene.add(pygfx.Background.from_color("#223"), pygfx.AmbientLight(), pygfx.DirectionalLight())
texture = pygfx.Texture(random(3, 16, 16), dim=2)
volume = pygfx.Texture(random(4, 8, 8, 8), dim=3)
things = [
    pygfx.Mesh(pygfx.box_geometry(1, 1, 1), pygfx.MeshPhongMaterial(color="#f60")),
    pygfx.Mesh(pygfx.sphere_geometry(0.6), pygfx.MeshStandardMaterial(color="#06f")),
    pygfx.Mesh(pygfx.torus_knot_geometry(0.4, 0.1), pygfx.MeshNormalMaterial()),
    pygfx.Line(pygfx.Geometry(positions=random(1, 10, 3)), pygfx.LineMaterial(thickness=4)),
    pygfx.Points(pygfx.Geometry(positions=random(2, 40, 3)), pygfx.PointsMaterial(size=8)),
    pygfx.Text(text="Dovetail", font_size=0.3, screen_space=False),
    pygfx.Image(pygfx.Geometry(grid=texture), pygfx.ImageBasicMaterial(clim=(0, 1))),
    pygfx.Mesh(pygfx.plane_geometry(1, 1), pygfx.MeshBasicMaterial(color=(0, 1, 0, 0.4))),
    pygfx.Mesh(pygfx.klein_bottle_geometry(0.4), pygfx.MeshToonMaterial(color="#fa0")),
    pygfx.Volume(pygfx.Geometry(grid=volume), pygfx.VolumeMipMaterial(clim=(0, 1))),
    pygfx.Line(pygfx.Geometry(positions=random(5, 10, 3)), pygfx.LineSegmentMaterial(thickness=2, dash_pattern=[2, 3])),
    pygfx.Mesh(pygfx.box_geometry(1, 1, 1), pygfx.MeshBasicMaterial(color="#fff", wireframe=True)),
]
for index, thing in enumerate(things):
    thing.local.position = (index % 4 * 1.4, index // 4 * 1.4, 0)
    scene.add(thing)
camera = pygfx.PerspectiveCamera(60, 1)
camera.show_object(scene)
canvas.request_draw(lambda: renderer.render(scene, camera))
picture = numpy.asarray(canvas.draw())
print("picture", picture.shape, hashlib.sha256(picture.tobytes()).hexdigest())
